import { statement } from '../../database/database.ts'
import { waiting } from '../engine/waiting.sql.ts'

/** $1 part, $2 webhooks, $3 how far is counted. */
export const selectHealth = statement(
  'select_webhook_health',
  `SELECT k.webhook_id AS "webhookId", k.failures, k.failing_since AS "failingSince", waiting.entities, waiting.deliveries AS waiting,
     least(waiting.blocked, waiting.deliveries) AS blocked, (
     SELECT count(*) FROM (SELECT FROM outcomes o WHERE o.part = $1 AND o.webhook_id = k.webhook_id AND o.state = 'exhausted' LIMIT $3) given_up) AS exhausted
   FROM cursors k CROSS JOIN ${waiting} waiting WHERE k.part = $1 AND k.webhook_id = ANY ($2::bigint[])`,
)
