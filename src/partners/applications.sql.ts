import { instant, int, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const updateToApplied = statement({
  name: 'update_partner_to_applied',
  takes: { branchId: int, name: text, updatedAt: instant },
  gives: { branchId: int },
  text: `UPDATE partners SET status = 'applied', status_reason = NULL, name = :name, updated_at = :updatedAt,
    revision = revision + 1
   WHERE branch_id = :branchId AND status = 'declined' RETURNING branch_id AS "branchId"`,
})

/** A partner that the brokerage registered has said nothing of itself yet. */
export const replaceApplication = statement({
  name: 'replace_partner_application',
  takes: {
    branchId: int,
    applicantId: text,
    website: text,
    contact: text,
    purpose: text,
    createdAt: instant,
  },
  text: `INSERT INTO partner_applications AS a
     (branch_id, applicant_id, website, contact, purpose, created_at)
   VALUES (:branchId, :applicantId, :website, :contact, :purpose, :createdAt)
   ON CONFLICT (branch_id) DO UPDATE SET website = excluded.website, contact = excluded.contact,
     purpose = excluded.purpose`,
})

export const selectApplicant = statement({
  name: 'select_applicant',
  takes: { branchId: int },
  gives: { applicantId: text },
  text: 'SELECT applicant_id AS "applicantId" FROM partner_applications WHERE branch_id = :branchId',
})

export const countApplications = statement({
  name: 'count_applications',
  takes: { branchId: int, since: instant },
  gives: { applications: int },
  text: `SELECT count(*) AS applications FROM (
     SELECT kind, written_at FROM partner_messages WHERE branch_id = :branchId
       ORDER BY id DESC LIMIT 3000) newest
   WHERE kind = 'applied' AND written_at > :since`,
})
