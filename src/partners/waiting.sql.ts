import { statement } from '../database/database.ts'

export const selectApplications = statement(
  'select_waiting_applications',
  `SELECT branch_id AS "branchId", name, created_at AS since, count(*) OVER () AS count FROM partners WHERE status = 'applied'
   ORDER BY created_at, branch_id LIMIT $1`,
)

export const selectRefreshRequests = statement(
  'select_waiting_refresh_requests',
  `SELECT p.branch_id AS "branchId", p.name, r.reason, r.asked_at AS since, count(*) OVER () AS count
   FROM refresh_requests r JOIN partners p ON p.branch_id = r.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)

export const selectScopeRequests = statement(
  'select_waiting_scope_requests',
  `SELECT p.branch_id AS "branchId", p.name, c.name AS client, r.scopes, r.reason, r.asked_at AS since, count(*) OVER () AS count
   FROM scope_requests r JOIN clients c ON c.id = r.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)
