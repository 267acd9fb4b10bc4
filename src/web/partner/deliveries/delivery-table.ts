import type { Sql } from '../../../database/database.ts'
import {
  type Attempt,
  type BlockingDelivery,
  type Delivery,
  findAhead,
  findLastAttempts,
} from '../../../webhooks/deliveries/delivery.ts'
import { findNextAttempt, type NextAttempt } from '../../../webhooks/deliveries/next-attempt.ts'
import type { Branch } from '../../../webhooks/events/branch.ts'
import { readLanes } from '../../../webhooks/health/lane-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { html } from '../../frame/html.ts'
import { counted, type ListColumn, moment } from '../../frame/list.ts'
import { printAnswered, printCourse } from '../../parts/attempt-words.ts'
import { stateBadge, stateLabel } from '../../parts/health-words.ts'

/** A delivery of a list, with what its own page knows: how it went last, when it goes next, what it waits behind. */
export interface ListedDelivery {
  readonly delivery: Delivery
  readonly url: string
  readonly ahead: BlockingDelivery | undefined
  readonly last: Attempt | undefined
  readonly next: NextAttempt | undefined
  /** When this was so. */
  readonly at: Date
}

export async function describeDeliveries(
  sql: Sql,
  branch: Branch,
  deliveries: readonly Delivery[],
  webhooks: readonly Webhook[],
  now: Date,
): Promise<ListedDelivery[]> {
  const ahead = await findAhead(sql, branch, deliveries)
  const lasts = await findLastAttempts(sql, branch, deliveries)
  const waiting = new Set(
    deliveries.flatMap(({ state, webhookId }) => (state === 'waiting' ? [webhookId] : [])),
  )
  const lanes = await readLanes(
    sql,
    webhooks.filter(({ id }) => waiting.has(id)),
    now,
  )
  const urls = new Map(webhooks.map(({ id, url }) => [id, url]))
  return deliveries.map((delivery) => ({
    delivery,
    url: urls.get(delivery.webhookId) ?? String(delivery.webhookId),
    ahead: ahead.get(delivery.id),
    last: lasts.get(delivery.id),
    next: findNextAttempt(delivery, lanes.get(delivery.webhookId)?.condition, now),
    at: now,
  }))
}

interface ListOptions {
  readonly home: string
  /** The id of the form that sends again what is ticked. */
  readonly sendAgain?: string | undefined
}

export function deliveryList({ home, sendAgain }: ListOptions) {
  const columns: readonly ListColumn<ListedDelivery>[] = [
    ...(sendAgain === undefined ? [] : [ticks(sendAgain)]),
    {
      name: 'Delivery',
      cell: ({ delivery: { id } }) => html`<a href="${home}/deliveries/${id}">${id}</a>`,
      text: ({ delivery }) => delivery.id,
    },
    {
      name: 'State',
      cell: ({ delivery, ahead }) => stateBadge(delivery, ahead),
      text: ({ delivery }) => stateLabel(delivery),
    },
    {
      name: 'Last answer',
      look: 'why',
      cell: ({ delivery: { reason }, last, next, at }) => printCourse({ last, next, reason }, at),
      text: ({ last }) => last && printAnswered(last),
    },
    { name: 'Reason', text: ({ delivery }) => delivery.reason },
    {
      name: 'Event',
      cell: ({ delivery: { kind, action, entity } }) =>
        html`${kind} ${action}<br><a class="entity" href="${home}/deliveries?${new URLSearchParams({ entity }).toString()}"><code>${entity}</code></a>`,
      text: ({ delivery: { kind, action } }) => `${kind} ${action}`,
    },
    { name: 'Entity', text: ({ delivery }) => delivery.entity },
    {
      name: 'Webhook',
      look: 'url',
      cell: ({ delivery, url }) => html`<a href="${home}/webhooks/${delivery.webhookId}">${url}</a>`,
      text: ({ url }) => url,
    },
    counted('Attempts', ({ delivery }) => delivery.attempts),
    moment('Created (UTC)', ({ delivery }) => delivery.createdAt),
  ]
  return { name: 'deliveries', caption: 'Deliveries', empty: 'There are no deliveries here.', columns }
}

/** What waits behind another goes when that has gone: it cannot be ticked. */
function ticks(form: string): ListColumn<ListedDelivery> {
  return {
    name: 'Tick',
    cell: ({ delivery: { id, state } }) =>
      state !== 'blocked' &&
      html`<input type="checkbox" name="delivery" value="${id}" form="${form}" aria-label="Delivery ${id}">`,
  }
}
