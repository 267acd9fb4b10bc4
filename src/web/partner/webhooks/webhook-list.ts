/** The list of a partner's webhooks: how each is, why it fails, and what can be done about it. */
import type { WebhookFailure } from '../../../webhooks/health/failure.ts'
import { judgeHealth, type WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { menu, printMoment, table } from '../../frame/parts.ts'
import type { Member } from '../../gates/gates.ts'
import { printWhy } from '../../parts/failure-words.ts'
import { conditionBadge, printCount } from '../../parts/health-words.ts'
import { printStateButton } from './webhook-acts.ts'

export function printWebhooks(
  webhooks: readonly Webhook[],
  health: ReadonlyMap<number, WebhookHealth>,
  failures: ReadonlyMap<number, WebhookFailure>,
  member: Member,
): Html {
  const { home } = member
  const rows = webhooks.map((webhook) => {
    const state = health.get(webhook.id)
    return html`<tr>
<td class="url"><a href="${home}/webhooks/${webhook.id}">${webhook.url}</a>${webhook.description !== '' && html`<br><span class="faint">${webhook.description}</span>`}</td>
<td>${conditionBadge(judgeHealth(webhook, state))}</td>
<td class="why">${printWhy(judgeHealth(webhook, state), failures.get(webhook.id), `${home}/webhooks/${webhook.id}/incident`)}</td>
<td>${webhook.kinds.join(', ')}</td>
<td class="number">${printCount(state?.waiting ?? 0)}</td>
<td class="number">${printCount(state?.exhausted ?? 0)}</td>
<td>${printMoment(webhook.createdAt)}</td>
<td>${printMenu(webhook, member)}</td>
</tr>`
  })
  const counts = ['Waiting', 'Failed after all retries']
  return table(
    'Webhooks',
    ['URL', 'Health', 'Last answer', 'Kinds', ...counts, 'Created (UTC)', 'Actions'],
    rows,
  )
}

function printMenu(webhook: Webhook, member: Member): Html {
  const { id, url } = webhook
  const here = `${member.home}/webhooks/${id}`
  return menu(url, [
    html`<a href="${member.home}/deliveries?webhook=${id}">Deliveries</a>`,
    member.isDeveloper && html`<a href="${member.home}/test?webhook=${id}">Send a test event</a>`,
    member.isDeveloper && html`<a href="${here}/replay">Replay deliveries…</a>`,
    member.isDeveloper && printStateButton(webhook, member),
  ])
}
