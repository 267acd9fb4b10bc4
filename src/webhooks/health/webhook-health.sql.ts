import { instant, int, list, orNull } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { waiting } from '../engine/waiting.sql.ts'

export const selectHealth = statement({
  name: 'select_webhook_health',
  takes: { part: int, webhookIds: list(int), most: int },
  gives: {
    webhookId: int,
    failures: int,
    failingSince: orNull(instant),
    entities: int,
    waiting: int,
    blocked: int,
    exhausted: int,
  },
  text: `SELECT k.webhook_id AS "webhookId", k.failures, k.failing_since AS "failingSince", waiting.entities,
    waiting.deliveries AS waiting,
     least(waiting.blocked, waiting.deliveries) AS blocked, (
     SELECT count(*) FROM (SELECT FROM outcomes o WHERE o.part = :part AND o.webhook_id = k.webhook_id
       AND o.state = 'exhausted' LIMIT :most) given_up) AS exhausted
   FROM cursors k CROSS JOIN ${waiting} waiting
     WHERE k.part = :part AND k.webhook_id = ANY (:webhookIds::bigint[])`,
})
