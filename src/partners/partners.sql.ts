import { bool, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { addressesOf } from '../users/one-person.sql.ts'
import { memberRoles } from '../vocabulary/member-role.ts'
import { partnerStatuses } from './partner-status.ts'

export const partnerColumns = `branch_id AS "branchId", name, status, status_reason AS "statusReason",
  revision, refresh_access AS "refreshAccess", created_at AS "createdAt"`

export const partnerRow = {
  branchId: int,
  name: text,
  status: oneOf(...partnerStatuses),
  statusReason: orNull(text),
  revision: int,
  refreshAccess: bool,
  createdAt: instant,
}

export const insertPartner = statement({
  name: 'insert_partner',
  takes: { name: text, createdAt: instant },
  gives: partnerRow,
  text: `INSERT INTO partners (name, status, created_at, updated_at)
   VALUES (:name, 'applied', :createdAt, :createdAt) RETURNING ${partnerColumns}`,
})

/** However long the number is that a caller sent. */
export const selectPartner = statement({
  name: 'select_partner',
  takes: { branchId: text },
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners WHERE branch_id::text = :branchId`,
})

export const selectPartnerByName = statement({
  name: 'select_partner_by_name',
  takes: { name: text },
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners WHERE name = :name`,
})

export const selectPartners = statement({
  name: 'select_partners',
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners ORDER BY branch_id`,
})

export const selectPartnersByIds = statement({
  name: 'select_partners_by_ids',
  takes: { branchIds: list(int) },
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners WHERE branch_id = ANY (:branchIds::int[])`,
})

export const updatePartnerStatus = statement({
  name: 'update_partner_status',
  takes: {
    branchId: int,
    status: text,
    statusReason: orNull(text),
    updatedAt: instant,
    from: list(text),
    seenStatus: orNull(text),
    seenRevision: orNull(int),
  },
  gives: { branchId: int },
  text: `UPDATE partners SET status = :status, status_reason = :statusReason, updated_at = :updatedAt,
     revision = revision + 1
   WHERE branch_id = :branchId AND status = ANY (:from::text[])
     AND (:seenStatus::text IS NULL OR (status, revision) = (:seenStatus, :seenRevision::int))
   RETURNING branch_id AS "branchId"`,
})

/**
 * What waits for a partner's webhooks goes on, or stands, with the decision: the engine's functions, of one
 * part each.
 */
export const allowFeeds = statement({
  name: 'allow_feeds',
  takes: { branchId: int, status: text },
  text: `SELECT tell_part(part_of(:branchId), NULL, feed_of(:branchId, place), NULL,
      may_act(:status, place), NULL, NULL, NULL)
    FROM unnest(ARRAY['live', 'sandbox']) AS place`,
})

export const updateRefreshAccess = statement({
  name: 'update_refresh_access',
  takes: { branchId: int, refreshAccess: bool, updatedAt: instant },
  text: `UPDATE partners SET refresh_access = :refreshAccess, updated_at = :updatedAt
   WHERE branch_id = :branchId`,
})

export const insertMember = statement({
  name: 'insert_member',
  takes: { branchId: int, userId: text, addedAt: instant, role: text },
  gives: { userId: text },
  text: `INSERT INTO partner_members (branch_id, user_id, added_at, role)
   VALUES (:branchId, :userId, :addedAt, :role)
   ON CONFLICT DO NOTHING RETURNING user_id AS "userId"`,
})

export const deleteMember = statement({
  name: 'delete_member',
  takes: { branchId: int, userId: text },
  gives: { userId: text },
  text: `DELETE FROM partner_members WHERE branch_id = :branchId AND user_id = :userId
    RETURNING user_id AS "userId"`,
})

export const updateMemberRole = statement({
  name: 'update_member_role',
  takes: { branchId: int, userId: text, role: text },
  text: 'UPDATE partner_members SET role = :role WHERE branch_id = :branchId AND user_id = :userId',
})

export const selectMembers = statement({
  name: 'select_members',
  takes: { branchId: int },
  gives: { id: text, username: text, name: text, role: oneOf(...memberRoles), addedAt: instant },
  text: `SELECT u.id, u.username, u.name, m.role, m.added_at AS "addedAt"
   FROM partner_members m JOIN users u ON u.id = m.user_id
   WHERE m.branch_id = :branchId ORDER BY m.added_at`,
})

export const selectMembership = statement({
  name: 'select_membership',
  takes: { branchId: int, userId: text },
  gives: { userId: text, role: oneOf(...memberRoles) },
  text: `SELECT user_id AS "userId", role FROM partner_members
   WHERE branch_id = :branchId AND user_id = :userId`,
})

export const selectBranchesOfMember = statement({
  name: 'select_branches_of_member',
  takes: { userId: text, environment: text },
  gives: { branchId: int, status: oneOf(...partnerStatuses), role: oneOf(...memberRoles) },
  text: `SELECT p.branch_id AS "branchId", p.status, m.role
   FROM partner_members m JOIN partners p USING (branch_id)
   WHERE m.user_id = :userId AND may_act(p.status, :environment)`,
})

export const selectPartnersOfMember = statement({
  name: 'select_partners_of_member',
  takes: { userId: text },
  gives: { ...partnerRow, role: oneOf(...memberRoles) },
  text: `SELECT ${partnerColumns}, m.role FROM partner_members m JOIN partners p USING (branch_id)
   WHERE m.user_id = :userId ORDER BY p.branch_id`,
})

/** Other transactions that apply for the same user wait. */
export const lockApplicant = statement({
  name: 'lock_applicant',
  takes: { id: text },
  text: 'SELECT id FROM users WHERE id = :id FOR NO KEY UPDATE',
})

export const selectUndecided = statement({
  name: 'select_undecided_application',
  takes: { applicantId: text },
  gives: { branchId: int, name: text, status: oneOf(...partnerStatuses) },
  text: `SELECT a.branch_id AS "branchId", p.name, p.status
   FROM partner_applications a JOIN partners p USING (branch_id)
   WHERE a.applicant_id = :applicantId AND p.status <> 'approved' ORDER BY a.branch_id`,
})

export const insertApplication = statement({
  name: 'insert_partner_application',
  takes: {
    branchId: int,
    applicantId: text,
    website: text,
    contact: text,
    purpose: text,
    createdAt: instant,
  },
  text: `INSERT INTO partner_applications (branch_id, applicant_id, website, contact, purpose, created_at)
   VALUES (:branchId, :applicantId, :website, :contact, :purpose, :createdAt)`,
})

export const selectApplication = statement({
  name: 'select_partner_application',
  takes: { branchId: int },
  gives: { website: text, contact: text, purpose: text },
  text: 'SELECT website, contact, purpose FROM partner_applications WHERE branch_id = :branchId',
})

/** Serialises changes of a partner's members, and what is written to it, so that their limits hold. */
export const lockPartner = statement({
  name: 'lock_partner',
  takes: { branchId: int },
  text: 'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = :branchId FOR NO KEY UPDATE',
})

export const selectPartnerNames = statement({
  name: 'select_partner_names',
  takes: { branchIds: list(int) },
  gives: { branchId: int, name: text },
  text: 'SELECT branch_id AS "branchId", name FROM partners WHERE branch_id = ANY (:branchIds::int[])',
})

/** Members of a branch, and users who left it since `:since`. */
const members = `SELECT user_id FROM partner_members WHERE branch_id = :branchId::int
     UNION SELECT e.details ->> 'userId' FROM audit_entries e WHERE e.subject = 'branch:' || :branchId::int
       AND e.action = 'partner.member_removed' AND e.at > :since`

export const selectOwnMembership = statement({
  name: 'select_own_membership',
  takes: { branchId: int, userId: text, since: instant },
  gives: { own: int },
  text: `SELECT 1 AS own FROM (${members}) m WHERE m.user_id = :userId LIMIT 1`,
})

/** The same, or by an address that they shared with a member since then. */
export const selectOwnPartner = statement({
  name: 'select_own_partner',
  takes: { branchId: int, userId: text, since: instant },
  gives: { own: int },
  text: `SELECT 1 AS own FROM (${members}) m WHERE m.user_id = :userId OR EXISTS ((${addressesOf(':userId')})
    INTERSECT (${addressesOf('m.user_id')})) LIMIT 1`,
})
