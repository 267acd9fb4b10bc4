/** What a partner's members are told of its webhooks: that one has been failing for a while, and that one was disabled. */
import { after, hour } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import { tellMembers } from '../notices/notices.sql.ts'
import { breakerThreshold } from './lane.ts'

/** How long a breaker is open before somebody is told: shorter outages mend themselves. */
export const failingMs = hour

const facts = (more: string) =>
  `jsonb_build_object('environment', w.environment, 'partner', p.name, 'branchId', w.branch_id, 'webhookId', w.id, 'url', w.url, ${more}) AS facts`

const tellFailing = tellMembers(
  'tell_failing_webhooks',
  'webhook-failing',
  `SELECT w.branch_id, w.id || ':' || extract(epoch FROM l.failing_since) AS key, ${facts("'since', l.failing_since")}
   FROM lanes l
   JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND p.status = 'approved'
   WHERE l.failing_since <= $4 AND l.evidence >= $5`,
)

const tellDisabled = tellMembers(
  'tell_disabled_webhook',
  'webhook-disabled',
  `SELECT w.branch_id, w.id || ':' || extract(epoch FROM w.updated_at) AS key, ${facts("'reason', w.disabled_reason")}
   FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = $4 AND w.state = 'disabled'`,
)

/** Once for each time it fails: when it has worked in between, the next is told again. */
export async function watchFailingWebhooks(sql: Sql, now: Date): Promise<number> {
  const values = [...memberLimits(now), after(now, -failingMs), breakerThreshold]
  return (await sql.query(tellFailing, values)).length
}

export async function tellOfDisabled(sql: Sql, webhookId: number, now: Date): Promise<void> {
  await sql.query(tellDisabled, [...memberLimits(now), webhookId])
}
