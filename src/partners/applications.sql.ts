import { statement } from '../database/database.ts'

export const updateToApplied = statement(
  'update_partner_to_applied',
  `UPDATE partners SET status = 'applied', status_reason = NULL, name = $2, updated_at = $3, revision = revision + 1
   WHERE branch_id = $1 AND status = 'declined' RETURNING branch_id AS "branchId"`,
)

/** A partner that the brokerage registered has said nothing of itself yet. */
export const replaceApplication = statement(
  'replace_partner_application',
  `INSERT INTO partner_applications AS a (branch_id, applicant_id, website, contact, purpose, created_at)
   VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (branch_id) DO UPDATE SET website = excluded.website, contact = excluded.contact, purpose = excluded.purpose`,
)

export const selectApplicant = statement(
  'select_applicant',
  'SELECT applicant_id AS "applicantId" FROM partner_applications WHERE branch_id = $1',
)

export const countApplications = statement(
  'count_applications',
  `SELECT count(*) AS applications FROM (
     SELECT kind, written_at FROM partner_messages WHERE branch_id = $1 ORDER BY id DESC LIMIT 3000) newest
   WHERE kind = 'applied' AND written_at > $2`,
)
