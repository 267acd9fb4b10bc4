import { bool, bytes, instant, int, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { tellOtherOwners } from '../notices/notices.sql.ts'
import { memberRoles } from '../vocabulary/member-role.ts'

/**
 * It holds while its sender could send it: an owner who is removed, demoted or locked out leaves no way in
 * behind.
 */
const holds = `i.expires_at > :now AND p.status = 'approved'
   AND (i.invited_by IS NULL OR EXISTS (
     SELECT FROM partner_members o JOIN users u ON u.id = o.user_id
     WHERE o.branch_id = i.branch_id AND o.user_id = i.invited_by AND o.role = 'owner'
       AND u.status = 'active'))`

const columns = `i.id, i.branch_id AS "branchId", p.name AS "partnerName", i.email, i.role,
   (SELECT u.name FROM users u WHERE u.id = i.invited_by) AS "invitedBy", i.sent_at AS "sentAt",
   i.expires_at AS "expiresAt"`

export const insertInvitation = statement({
  name: 'insert_invitation',
  takes: {
    branchId: int,
    email: text,
    role: text,
    tokenHash: bytes,
    invitedBy: orNull(text),
    invitedAt: instant,
    expiresAt: instant,
  },
  text: `INSERT INTO invitations (branch_id, email, role, token_hash, invited_by, invited_at, sent_at,
     expires_at)
   VALUES (:branchId, :email, :role, :tokenHash, :invitedBy, :invitedAt, :invitedAt, :expiresAt)
   RETURNING id`,
})

export const renewInvitation = statement({
  name: 'renew_invitation',
  takes: {
    branchId: int,
    id: int,
    tokenHash: bytes,
    invitedBy: orNull(text),
    sentAt: instant,
    expiresAt: instant,
  },
  text: `UPDATE invitations SET token_hash = :tokenHash, invited_by = :invitedBy, sent_at = :sentAt,
     expires_at = :expiresAt
   WHERE branch_id = :branchId AND id = :id`,
})

const row = {
  id: int,
  branchId: int,
  partnerName: text,
  email: text,
  role: oneOf(...memberRoles),
  invitedBy: orNull(text),
  sentAt: instant,
  expiresAt: instant,
}

export const selectOfBranch = statement({
  name: 'select_invitations_of_branch',
  takes: { branchId: int, now: instant },
  gives: { ...row, isOpen: bool },
  text: `SELECT ${columns}, ${holds} AS "isOpen"
   FROM invitations i JOIN partners p USING (branch_id)
   WHERE i.branch_id = :branchId ORDER BY i.invited_at, i.id`,
})

export const selectByToken = statement({
  name: 'select_invitation_by_token',
  takes: { tokenHash: bytes, now: instant },
  gives: row,
  text: `SELECT ${columns} FROM invitations i JOIN partners p USING (branch_id)
   WHERE i.token_hash = :tokenHash AND ${holds}`,
})

/** One statement, one winner: a second transaction, or one too late, finds none. */
export const consumeInvitation = statement({
  name: 'consume_invitation',
  takes: { tokenHash: bytes, now: instant },
  gives: row,
  text: `DELETE FROM invitations i USING partners p
   WHERE p.branch_id = i.branch_id AND i.token_hash = :tokenHash AND ${holds} RETURNING ${columns}`,
})

export const deleteInvitation = statement({
  name: 'delete_invitation',
  takes: { branchId: int, id: int },
  gives: { email: text, role: oneOf(...memberRoles) },
  text: 'DELETE FROM invitations WHERE branch_id = :branchId AND id = :id RETURNING email, role',
})

export const deleteOldInvitations = statement({
  name: 'delete_old_invitations',
  takes: { before: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM invitations WHERE id = ANY (ARRAY(
     SELECT id FROM invitations WHERE expires_at <= :before LIMIT :most)) RETURNING id`,
})

/** Of a user who joined by an invitation. */
export const tellOwnersOfMember = tellOtherOwners({
  name: 'tell_owners_of_member',
  kind: 'member-joined',
  takes: { branchId: int, invitationId: text, userId: text, role: text },
  found: `SELECT p.branch_id, :invitationId::text AS key, u.id AS about,
     jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'name', u.name,
       'role', :role::text) AS facts
   FROM partners p, users u WHERE p.branch_id = :branchId AND u.id = :userId`,
})
