import { statement } from '../../database/database.ts'
import { tellMembers } from '../../notices/notices.sql.ts'
import { facts } from '../subscriptions/notices.sql.ts'

export const tellFailing = tellMembers(
  'tell_failing_webhooks',
  'webhook-failing',
  `SELECT w.branch_id, w.id || ':' || extract(epoch FROM l.failing_since) AS key, ${facts("'since', l.failing_since")}
   FROM unnest($4::bigint[], $5::timestamptz[]) AS l (webhook_id, failing_since)
   JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment)`,
)

/** Of a part: those whose breaker is open, which takes so many attempts ($3) and entities ($4). */
export const selectFailingLong = statement(
  'select_failing_long',
  `SELECT k.webhook_id AS "webhookId", k.failing_since AS "failingSince" FROM cursors k WHERE k.part = $1 AND k.failing_since <= $2 AND k.failures >= $3
     AND (SELECT count(*) FROM (SELECT FROM exceptions x WHERE x.part = $1 AND x.webhook_id = k.webhook_id LIMIT $4) failing) >= $4`,
)
