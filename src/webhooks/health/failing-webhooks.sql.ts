import { statement } from '../../database/database.ts'
import { webhookColumns } from '../subscriptions/webhooks.sql.ts'

/** Lanes of a part that fail, longest first; what somebody holds back is left out. */
export const selectFailing = statement(
  'select_failing_lanes',
  `SELECT k.webhook_id AS "webhookId", k.failures, k.failing_since AS since, (
     SELECT count(*) FROM exceptions x WHERE x.part = $1 AND x.webhook_id = k.webhook_id) AS entities
   FROM cursors k WHERE k.part = $1 AND k.failing_since IS NOT NULL AND k.is_open ORDER BY k.failing_since LIMIT $2`,
)

export const selectOwners = statement(
  'select_owners_of_webhooks',
  `SELECT w.id, w.url, w.environment, w.branch_id AS "branchId", p.name AS partner FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = ANY ($1::bigint[]) AND w.state = 'active'`,
)

/** Of several branches in one environment: those that may fail. A branch has a hundred at most. */
export const selectServed = statement(
  'select_served_webhooks',
  `SELECT ${webhookColumns} FROM webhooks WHERE branch_id = ANY ($1::int[]) AND environment = $2 AND state IN ('active', 'disabled')`,
)
