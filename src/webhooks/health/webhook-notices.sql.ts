import { instant, int, list, sure } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { tellMembers } from '../../notices/notices.sql.ts'
import { facts } from '../subscriptions/notices.sql.ts'

export const tellFailing = tellMembers({
  name: 'tell_failing_webhooks',
  kind: 'webhook-failing',
  takes: { webhookIds: list(int), failingSince: list(instant) },
  found: `SELECT w.branch_id, w.id || ':' || extract(epoch FROM l.failing_since) AS key,
    ${facts("'since', l.failing_since")}
   FROM unnest(:webhookIds::bigint[], :failingSince::timestamptz[]) AS l (webhook_id, failing_since)
   JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment)`,
})

/** Of a part: those whose breaker is open, which takes so many attempts and entities. */
export const selectFailingLong = statement({
  name: 'select_failing_long',
  takes: { part: int, since: instant, failuresAtLeast: int, entitiesAtLeast: int },
  gives: { webhookId: int, failingSince: sure(instant) },
  text: `SELECT k.webhook_id AS "webhookId", k.failing_since AS "failingSince" FROM cursors k
    WHERE k.part = :part AND k.failing_since <= :since AND k.failures >= :failuresAtLeast
     AND (SELECT count(*) FROM (SELECT FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id
       LIMIT :entitiesAtLeast) failing) >= :entitiesAtLeast`,
})
