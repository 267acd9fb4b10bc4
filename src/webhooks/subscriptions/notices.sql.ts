import { int } from '../../database/column.ts'
import { tellMembers } from '../../notices/notices.sql.ts'

/** What a notice says of webhook `w` of partner `p`. */
export const facts = (more: string) =>
  `jsonb_build_object('environment', w.environment, 'partner', p.name, 'branchId', w.branch_id, 'webhookId',
    w.id, 'url', w.url, ${more}) AS facts`

export const tellDisabled = tellMembers({
  name: 'tell_disabled_webhook',
  kind: 'webhook-disabled',
  takes: { webhookId: int },
  found: `SELECT w.branch_id, w.id || ':' || extract(epoch FROM w.updated_at) AS key,
    ${facts("'reason', w.disabled_reason")}
   FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = :webhookId AND w.state = 'disabled'`,
})
