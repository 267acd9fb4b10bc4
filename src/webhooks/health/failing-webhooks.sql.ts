import { int, list, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { webhookColumns, webhookRow } from '../subscriptions/webhooks.sql.ts'

/** Lanes of a part that fail, longest first; webhooks that are paused, disabled or held back are left out. */
export const selectFailing = statement({
  name: 'select_failing_lanes',
  takes: { part: int, most: int },
  gives: { id: int, feed: int },
  text: `SELECT k.webhook_id AS id, k.feed FROM cursors k
   WHERE k.part = :part AND k.failing_since IS NOT NULL AND k.tried_in = k.term AND k.is_open
     ORDER BY k.failing_since LIMIT :most`,
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
