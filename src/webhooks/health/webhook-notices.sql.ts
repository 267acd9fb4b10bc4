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

/** Of a part. */
export const selectFailingLong = statement(
  'select_failing_long',
  'SELECT webhook_id AS "webhookId", failing_since AS "failingSince" FROM cursors WHERE part = $1 AND failing_since <= $2 AND failures >= $3',
)
