import type { BlockingDelivery, Delivery } from '../../../webhooks/deliveries/delivery.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { menu, printMoment, table } from '../../frame/parts.ts'
import { stateBadge } from '../../parts/health-words.ts'

/** `ahead`: what those wait behind that do. */
export function printDeliveries(
  deliveries: readonly Delivery[],
  webhooks: readonly Webhook[],
  home: string,
  ahead: ReadonlyMap<string, BlockingDelivery>,
): Html {
  if (deliveries.length === 0) return html`<p class="card empty">There are no deliveries here.</p>`
  const urls = new Map(webhooks.map((webhook) => [webhook.id, webhook.url]))
  const rows = deliveries.map(
    (each) => html`<tr>
<td><a href="${home}/deliveries/${each.id}">${each.id}</a></td>
<td>${stateBadge(each, ahead.get(each.id))}</td>
<td>${each.kind} ${each.action}</td>
<td><code>${each.entity}</code></td>
<td class="url"><a href="${home}/webhooks/${each.webhookId}">${urls.get(each.webhookId) ?? each.webhookId}</a></td>
<td class="number">${each.attempts}</td>
<td>${printMoment(each.createdAt)}</td>
<td>${printMenu(each, home)}</td>
</tr>`,
  )
  return table(
    'Deliveries',
    ['Delivery', 'State', 'Event', 'Entity', 'Webhook', 'Attempts', 'Created (UTC)', 'Actions'],
    rows,
  )
}

/** What it allows depends on its state: its own page offers that. */
function printMenu({ id, entity, webhookId }: Delivery, home: string): Html {
  return menu(`delivery ${id}`, [
    html`<a href="${home}/deliveries/${id}">Attempts</a>`,
    html`<a href="${home}/deliveries?${new URLSearchParams({ entity }).toString()}">Deliveries of
      ${entity}</a>`,
    html`<a href="${home}/deliveries?webhook=${webhookId}">Deliveries of this webhook</a>`,
  ])
}
