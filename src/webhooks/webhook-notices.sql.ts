import { tellMembers } from '../notices/notices.sql.ts'

const facts = (more: string) =>
  `jsonb_build_object('environment', w.environment, 'partner', p.name, 'branchId', w.branch_id, 'webhookId', w.id, 'url', w.url, ${more}) AS facts`

export const tellFailing = tellMembers(
  'tell_failing_webhooks',
  'webhook-failing',
  `SELECT w.branch_id, w.id || ':' || extract(epoch FROM l.failing_since) AS key, ${facts("'since', l.failing_since")}
   FROM lanes l
   JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment)
   WHERE l.failing_since <= $4 AND l.evidence >= $5`,
)

export const tellDisabled = tellMembers(
  'tell_disabled_webhook',
  'webhook-disabled',
  `SELECT w.branch_id, w.id || ':' || extract(epoch FROM w.updated_at) AS key, ${facts("'reason', w.disabled_reason")}
   FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = $4 AND w.state = 'disabled'`,
)
