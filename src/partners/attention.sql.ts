import { statement } from '../database/database.ts'

export const selectApplicants = statement(
  'select_applicants',
  `SELECT p.branch_id AS "branchId", p.name, p.status, p.revision, CASE WHEN p.revision = 0 THEN p.created_at ELSE p.updated_at END AS since,
          a.website, a.contact, a.purpose
   FROM partners p LEFT JOIN partner_applications a USING (branch_id) WHERE p.status = 'applied' ORDER BY p.branch_id LIMIT $1`,
)

export const selectRefreshAsked = statement(
  'select_refresh_asked',
  `SELECT p.branch_id AS "branchId", p.name, r.reason, r.asked_at AS since
   FROM refresh_requests r JOIN partners p USING (branch_id) WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)

export const selectScopesAsked = statement(
  'select_scopes_asked',
  `SELECT r.id, p.branch_id AS "branchId", p.name, c.id AS "clientId", c.name AS client, r.scopes, r.reason, r.asked_at AS since
   FROM scope_requests r JOIN clients c ON c.id = r.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)

/** Those that somebody still uses: the others may end without a word. */
export const selectEndingSecrets = statement(
  'select_ending_secrets',
  `SELECT p.branch_id AS "branchId", p.name, c.id AS "clientId", c.name AS client, c.environment, s.hint, s.expires_at AS "endsAt", s.last_used_at AS "lastUsedAt"
   FROM client_secrets s JOIN clients c ON c.id = s.client_id AND c.status = 'active'
   JOIN partners p ON p.branch_id = c.branch_id AND may_act(p.status, c.environment)
   WHERE s.revoked_at IS NULL AND s.expires_at > $1 AND s.expires_at <= $2 AND s.last_used_at > $3
   ORDER BY s.expires_at LIMIT $4`,
)

/** Of the newest so many, of all partners: who had at least so many since a moment, and for how long. */
export const selectRefusedPartners = statement(
  'select_refused_partners',
  `SELECT p.branch_id AS "branchId", p.name, refused.calls, refused.since FROM (
     SELECT branch_id, count(*) AS calls, min(at) AS since
     FROM (SELECT branch_id, at FROM refused_calls ORDER BY id DESC LIMIT $2) newest
     WHERE at >= $1 GROUP BY branch_id HAVING count(*) >= $3) refused
   JOIN partners p USING (branch_id) ORDER BY refused.calls DESC LIMIT $4`,
)
