import { int, list } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { waiting } from '../engine/waiting.sql.ts'

export const selectWaitingOf = statement({
  name: 'select_waiting_of_webhooks',
  takes: { part: int, webhookIds: list(int), most: int },
  gives: { webhookId: int, waiting: int, blocked: int, exhausted: int },
  text: `SELECT k.webhook_id AS "webhookId", waiting.deliveries AS waiting,
     least(waiting.blocked, waiting.deliveries) AS blocked, (
     SELECT count(*) FROM (SELECT FROM outcomes o WHERE o.part = :part AND o.webhook_id = k.webhook_id
       AND o.state = 'exhausted' LIMIT :most) given_up) AS exhausted
   FROM cursors k CROSS JOIN ${waiting} waiting
     WHERE k.part = :part AND k.webhook_id = ANY (:webhookIds::bigint[])`,
})
