/** The list of a partner's webhooks: how each is, why it fails, and what can be done about it. */
import type { Sql } from '../../../database/database.ts'
import { isFailing } from '../../../webhooks/health/condition.ts'
import { readFailures, type WebhookFailure } from '../../../webhooks/health/failure.ts'
import { readHealth, type WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import { listWebhooks, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { type List, type ListColumn, moment, plain, whole } from '../../frame/list.ts'
import { menu } from '../../frame/parts.ts'
import type { Member } from '../../gates/gates.ts'
import { nameAnswer, printWhy } from '../../parts/failure-words.ts'
import { conditionBadge, labelOf, printCount } from '../../parts/health-words.ts'
import { printStateButton } from './webhook-acts.ts'

interface ListedWebhook {
  readonly webhook: WebhookHealth
  readonly failure: WebhookFailure | undefined
}

export async function listWebhooksOf(
  sql: Sql,
  member: Member,
  now: Date,
): Promise<List<ListedWebhook> & { readonly rows: readonly ListedWebhook[] }> {
  const webhooks = await listWebhooks(sql, member.branch, 0, webhooksPerBranch)
  const health = await readHealth(sql, webhooks, now)
  const failures = await readFailures(sql, webhooks)
  const rows = [...health.values()].map((webhook) => ({ webhook, failure: failures.get(webhook.id) }))
  return {
    name: 'webhooks',
    caption: 'Webhooks',
    empty: 'No webhook is registered here yet.',
    columns: columnsOf(member),
    rows,
    ...whole(rows),
  }
}

function columnsOf(member: Member): readonly ListColumn<ListedWebhook>[] {
  const { home } = member
  return [
    { name: 'Webhook', text: ({ webhook }) => webhook.id },
    {
      name: 'URL',
      look: 'url',
      cell: ({ webhook: { id, url, description } }) =>
        html`<a href="${home}/webhooks/${id}">${url}</a>${
          description !== '' && html`<br><span class="faint">${description}</span>`
        }`,
      text: ({ webhook }) => webhook.url,
    },
    { name: 'Description', text: ({ webhook }) => webhook.description },
    {
      name: 'Health',
      cell: ({ webhook }) => conditionBadge(webhook),
      text: ({ webhook }) => labelOf(webhook),
    },
    {
      name: 'Last answer',
      look: 'why',
      cell: ({ webhook, failure }) =>
        printWhy(webhook.condition, failure, `${home}/webhooks/${webhook.id}/incident`),
      text: ({ webhook, failure }) =>
        isFailing(webhook.condition) && failure?.last && nameAnswer(failure.last),
    },
    plain('Kinds', ({ webhook }) => webhook.kinds.join(', ')),
    {
      name: 'Waiting',
      look: 'number',
      cell: ({ webhook }) => printCount(webhook.waiting),
      text: ({ webhook }) => printCount(webhook.waiting),
    },
    {
      name: 'Failed after all retries',
      look: 'number',
      cell: ({ webhook }) => printCount(webhook.exhausted),
      text: ({ webhook }) => printCount(webhook.exhausted),
    },
    moment('Created (UTC)', ({ webhook }) => webhook.createdAt),
    { name: 'Actions', cell: ({ webhook }) => printMenu(webhook, member) },
  ]
}

function printMenu(webhook: WebhookHealth, member: Member): Html {
  const { id, url } = webhook
  const here = `${member.home}/webhooks/${id}`
  return menu(url, [
    html`<a href="${member.home}/deliveries?webhook=${id}">Deliveries</a>`,
    member.isDeveloper && html`<a href="${member.home}/test?webhook=${id}">Send a test event</a>`,
    member.isDeveloper && html`<a href="${here}/replay">Replay deliveries…</a>`,
    member.isDeveloper && printStateButton(webhook, member),
  ])
}
