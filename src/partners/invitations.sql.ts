import { statement } from '../database/database.ts'
import { tellOtherOwners } from '../notices/notices.sql.ts'

/** It holds while whoever sent it could send it: an owner who is removed, demoted or locked out leaves no way in behind. */
const holds = (now: string) => `i.expires_at > ${now} AND p.status = 'approved'
   AND (i.invited_by IS NULL OR EXISTS (
     SELECT FROM partner_members o JOIN users u ON u.id = o.user_id
     WHERE o.branch_id = i.branch_id AND o.user_id = i.invited_by AND o.role = 'owner' AND u.status = 'active'))`

const columns = `i.id, i.branch_id AS "branchId", p.name AS "partnerName", i.email, i.role,
   (SELECT u.name FROM users u WHERE u.id = i.invited_by) AS "invitedBy", i.sent_at AS "sentAt", i.expires_at AS "expiresAt"`

export const insertInvitation = statement(
  'insert_invitation',
  `INSERT INTO invitations (branch_id, email, role, token_hash, invited_by, invited_at, sent_at, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $6, $7) RETURNING id`,
)

export const renewInvitation = statement(
  'renew_invitation',
  `UPDATE invitations SET token_hash = $3, invited_by = $4, sent_at = $5, expires_at = $6
   WHERE branch_id = $1 AND id = $2`,
)

export const selectOfBranch = statement(
  'select_invitations_of_branch',
  `SELECT ${columns}, ${holds('$2')} AS "isOpen" FROM invitations i JOIN partners p USING (branch_id)
   WHERE i.branch_id = $1 ORDER BY i.invited_at, i.id`,
)

export const selectByToken = statement(
  'select_invitation_by_token',
  `SELECT ${columns} FROM invitations i JOIN partners p USING (branch_id) WHERE i.token_hash = $1 AND ${holds('$2')}`,
)

/** One statement, one winner: whoever comes second, or too late, finds none. */
export const consumeInvitation = statement(
  'consume_invitation',
  `DELETE FROM invitations i USING partners p
   WHERE p.branch_id = i.branch_id AND i.token_hash = $1 AND ${holds('$2')} RETURNING ${columns}`,
)

export const deleteInvitation = statement(
  'delete_invitation',
  'DELETE FROM invitations WHERE branch_id = $1 AND id = $2 RETURNING email, role',
)

export const deleteOldInvitations = statement(
  'delete_old_invitations',
  `DELETE FROM invitations WHERE id = ANY (ARRAY(SELECT id FROM invitations WHERE expires_at <= $1 LIMIT $2)) RETURNING id`,
)

/** $4 the branch, $5 which invitation, $6 who joined, $7 in which role. */
export const tellOwnersOfMember = tellOtherOwners(
  'tell_owners_of_member',
  'member-joined',
  `SELECT p.branch_id, $5::text AS key, u.id AS about,
          jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'name', u.name, 'role', $7::text) AS facts
   FROM partners p, users u WHERE p.branch_id = $4 AND u.id = $6`,
)
