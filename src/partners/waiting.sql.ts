import { instant, int, list, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { scopes } from '../vocabulary/scope.ts'

export const selectApplications = statement({
  name: 'select_waiting_applications',
  takes: { most: int },
  gives: { branchId: int, name: text, since: instant, count: int },
  text: `SELECT branch_id AS "branchId", name, created_at AS since, count(*) OVER () AS count
   FROM partners WHERE status = 'applied' ORDER BY created_at, branch_id LIMIT :most`,
})

export const selectRefreshRequests = statement({
  name: 'select_waiting_refresh_requests',
  takes: { most: int },
  gives: { branchId: int, name: text, reason: text, since: instant, count: int },
  text: `SELECT p.branch_id AS "branchId", p.name, r.reason, r.asked_at AS since, count(*) OVER () AS count
   FROM refresh_requests r JOIN partners p ON p.branch_id = r.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT :most`,
})

export const selectScopeRequests = statement({
  name: 'select_waiting_scope_requests',
  takes: { most: int },
  gives: {
    branchId: int,
    name: text,
    client: text,
    scopes: list(oneOf(...scopes)),
    reason: text,
    since: instant,
    count: int,
  },
  text: `SELECT p.branch_id AS "branchId", p.name, c.name AS client, r.scopes, r.reason, r.asked_at AS since,
    count(*) OVER () AS count
   FROM scope_requests r JOIN clients c ON c.id = r.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT :most`,
})
