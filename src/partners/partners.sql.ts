import { statement } from '../database/database.ts'

export const partnerColumns =
  'branch_id AS "branchId", name, status, status_reason AS "statusReason", refresh_access AS "refreshAccess", created_at AS "createdAt"'

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
  `UPDATE partners SET status = $2, status_reason = $3, updated_at = $4
   WHERE branch_id = $1 AND ($5::text IS NULL OR status = $5) RETURNING branch_id AS "branchId"`,
)

export const updateRefreshAccess = statement(
  'update_refresh_access',
  'UPDATE partners SET refresh_access = $2, updated_at = $3 WHERE branch_id = $1',
)

export const insertMember = statement(
  'insert_member',
  'INSERT INTO partner_members (branch_id, user_id, added_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
)

export const deleteMember = statement(
  'delete_member',
  'DELETE FROM partner_members WHERE branch_id = $1 AND user_id = $2 RETURNING user_id AS "userId"',
)

export const selectMembers = statement(
  'select_members',
  `SELECT u.id, u.username, u.name, m.added_at AS "addedAt" FROM partner_members m JOIN users u ON u.id = m.user_id
   WHERE m.branch_id = $1 ORDER BY m.added_at`,
)

export const selectBranchesOfMember = statement(
  'select_branches_of_member',
  `SELECT p.branch_id AS "branchId" FROM partner_members m JOIN partners p USING (branch_id) WHERE m.user_id = $1 AND p.status = 'approved'`,
)

export const selectPartnersOfMember = statement(
  'select_partners_of_member',
  `SELECT ${partnerColumns} FROM partner_members m JOIN partners p USING (branch_id) WHERE m.user_id = $1 ORDER BY p.branch_id`,
)

/** Holds still whoever else applies for the same user. */
export const lockApplicant = statement('lock_applicant', 'SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE')

export const selectUndecided = statement(
  'select_undecided_application',
  `SELECT a.branch_id AS "branchId" FROM partner_applications a JOIN partners p USING (branch_id)
   WHERE a.applicant_id = $1 AND p.status = 'applied'`,
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

/** Serialises changes of a partner's members, so that their limits hold. */
export const lockPartner = statement(
  'lock_partner',
  'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = $1 FOR NO KEY UPDATE',
)

export const selectPartnerNames = statement(
  'select_partner_names',
  'SELECT branch_id AS "branchId", name FROM partners WHERE branch_id = ANY ($1::int[])',
)
