import { statement } from '../database/database.ts'
import { addressesOf } from '../users/one-person.sql.ts'

export const partnerColumns =
  'branch_id AS "branchId", name, status, status_reason AS "statusReason", revision, refresh_access AS "refreshAccess", created_at AS "createdAt"'

export const insertPartner = statement(
  'insert_partner',
  `INSERT INTO partners (name, status, created_at, updated_at) VALUES ($1, 'applied', $2, $2) RETURNING ${partnerColumns}`,
)

export const selectPartner = statement(
  'select_partner',
  `SELECT ${partnerColumns} FROM partners WHERE branch_id::text = $1`,
)

export const selectPartnerByName = statement(
  'select_partner_by_name',
  `SELECT ${partnerColumns} FROM partners WHERE name = $1`,
)

export const selectPartners = statement('select_partners', `SELECT ${partnerColumns} FROM partners ORDER BY branch_id`)

export const updatePartnerStatus = statement(
  'update_partner_status',
  `UPDATE partners SET status = $2, status_reason = $3, updated_at = $4, revision = revision + 1
   WHERE branch_id = $1 AND status = ANY ($5::text[]) AND ($6::text IS NULL OR (status, revision) = ($6, $7::int)) RETURNING branch_id AS "branchId"`,
)

/** What waits for a partner's webhooks goes on, or stands, with the decision: the engine's functions, of one part each. */
export const allowFeeds = statement(
  'allow_feeds',
  `SELECT allow_feed(part_of($1), feed_of($1, place), may_act($2, place)) FROM unnest(ARRAY['live', 'sandbox']) AS place`,
)

export const updateRefreshAccess = statement(
  'update_refresh_access',
  'UPDATE partners SET refresh_access = $2, updated_at = $3 WHERE branch_id = $1',
)

export const insertMember = statement(
  'insert_member',
  `INSERT INTO partner_members (branch_id, user_id, added_at, role) VALUES ($1, $2, $3, $4)
   ON CONFLICT DO NOTHING RETURNING user_id AS "userId"`,
)

export const deleteMember = statement(
  'delete_member',
  'DELETE FROM partner_members WHERE branch_id = $1 AND user_id = $2 RETURNING user_id AS "userId"',
)

export const updateMemberRole = statement(
  'update_member_role',
  'UPDATE partner_members SET role = $3 WHERE branch_id = $1 AND user_id = $2',
)

export const selectMembers = statement(
  'select_members',
  `SELECT u.id, u.username, u.name, m.role, m.added_at AS "addedAt" FROM partner_members m JOIN users u ON u.id = m.user_id
   WHERE m.branch_id = $1 ORDER BY m.added_at`,
)

export const selectMembership = statement(
  'select_membership',
  'SELECT user_id AS "userId", role FROM partner_members WHERE branch_id = $1 AND user_id = $2',
)

export const selectBranchesOfMember = statement(
  'select_branches_of_member',
  `SELECT p.branch_id AS "branchId", p.status, m.role FROM partner_members m JOIN partners p USING (branch_id)
   WHERE m.user_id = $1 AND may_act(p.status, $2)`,
)

export const selectPartnersOfMember = statement(
  'select_partners_of_member',
  `SELECT ${partnerColumns}, m.role FROM partner_members m JOIN partners p USING (branch_id) WHERE m.user_id = $1 ORDER BY p.branch_id`,
)

/** Holds still whoever else applies for the same user. */
export const lockApplicant = statement('lock_applicant', 'SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE')

export const selectUndecided = statement(
  'select_undecided_application',
  `SELECT a.branch_id AS "branchId", p.name, p.status FROM partner_applications a JOIN partners p USING (branch_id)
   WHERE a.applicant_id = $1 AND p.status <> 'approved' ORDER BY a.branch_id`,
)

export const insertApplication = statement(
  'insert_partner_application',
  `INSERT INTO partner_applications (branch_id, applicant_id, website, contact, purpose, created_at)
   VALUES ($1, $2, $3, $4, $5, $6)`,
)

export const selectApplication = statement(
  'select_partner_application',
  'SELECT website, contact, purpose FROM partner_applications WHERE branch_id = $1',
)

/** Serialises changes of a partner's members, and what is written to it, so that their limits hold. */
export const lockPartner = statement(
  'lock_partner',
  'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = $1 FOR NO KEY UPDATE',
)

export const selectPartnerNames = statement(
  'select_partner_names',
  'SELECT branch_id AS "branchId", name FROM partners WHERE branch_id = ANY ($1::int[])',
)

/** Members of branch $1, and those who left since $3. */
const members = `SELECT user_id FROM partner_members WHERE branch_id = $1::int
     UNION SELECT e.details ->> 'userId' FROM audit_entries e WHERE e.subject = 'branch:' || $1::int AND e.action = 'partner.member_removed' AND e.at > $3`

/** Of user $2. */
export const selectOwnMembership = statement(
  'select_own_membership',
  `SELECT 1 AS own FROM (${members}) m WHERE m.user_id = $2 LIMIT 1`,
)

/** Of user $2, or by an address that they shared with a member since $3. */
export const selectOwnPartner = statement(
  'select_own_partner',
  `SELECT 1 AS own FROM (${members}) m WHERE m.user_id = $2 OR EXISTS ((${addressesOf('$2')}) INTERSECT (${addressesOf('m.user_id')})) LIMIT 1`,
)
