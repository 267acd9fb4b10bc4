import { instant, int, list, oneOf, sure, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { environments } from '../../vocabulary/environment.ts'
import { webhookColumns, webhookRow } from '../subscriptions/webhooks.sql.ts'

/** Lanes of a part that fail, longest first; webhooks that are paused, disabled or held back are left out. */
export const selectFailing = statement({
  name: 'select_failing_lanes',
  takes: { part: int, most: int },
  gives: { webhookId: int, failures: int, since: sure(instant), entities: int },
  text: `SELECT k.webhook_id AS "webhookId", k.failures, k.failing_since AS since, (
     SELECT count(*) FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id) AS entities
   FROM cursors k WHERE k.part = :part AND k.failing_since IS NOT NULL AND k.is_open ORDER BY k.failing_since
     LIMIT :most`,
})

export const selectOwners = statement({
  name: 'select_owners_of_webhooks',
  takes: { ids: list(int) },
  gives: { id: int, url: text, environment: oneOf(...environments), branchId: int, partner: text },
  text: `SELECT w.id, w.url, w.environment, w.branch_id AS "branchId", p.name AS partner FROM webhooks w
    JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = ANY (:ids::bigint[]) AND w.state = 'active'`,
})

/** Of several branches in one environment: those that may fail. A branch has a hundred at most. */
export const selectServed = statement({
  name: 'select_served_webhooks',
  takes: { branchIds: list(int), environment: text },
  gives: webhookRow,
  text: `SELECT ${webhookColumns} FROM webhooks
   WHERE branch_id = ANY (:branchIds::int[]) AND environment = :environment AND state
     IN ('active', 'disabled')`,
})
