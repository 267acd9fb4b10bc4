import { statement } from '../database/database.ts'

/** Down the index of what fails, longest first; what somebody holds back is left out. $1: from how much evidence on a breaker is open. */
export const selectFailing = statement(
  'select_failing_webhooks',
  `SELECT w.id, w.url, w.environment, w.branch_id AS "branchId", p.name AS partner, l.failures, l.failing_since AS since, l.evidence >= $1 AS "isOpen"
   FROM lanes l JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND p.status = 'approved'
   WHERE l.failing_since IS NOT NULL ORDER BY l.failing_since LIMIT $2`,
)
