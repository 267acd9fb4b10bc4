/** The delivery log: filters, pages, and the newest of them live. */

import { cut } from '../../../text/cut.ts'
import {
  type BlockingDelivery,
  type DeliveryFilter,
  deliveryStates,
  findAhead,
} from '../../../webhooks/deliveries/delivery.ts'
import { type FoundDeliveries, searchDeliveries } from '../../../webhooks/deliveries/delivery-search.ts'
import { kinds } from '../../../webhooks/events/kind.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { any, anyOf, choiceField, textField } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { stateLabels } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { printDeliveries } from './delivery-table.ts'

const pageSize = 50
const longest = 100
const allThatWait = { value: 'unfinished', label: 'everything that waits' }
const fields = ['webhook', 'state', 'kind', 'entity', 'from', 'to'] as const

interface DeliveryPageQuery {
  readonly webhookId: number | undefined
  readonly filter: DeliveryFilter
  readonly before: string | undefined
}

export async function showDeliveries(visit: Visit, member: Member) {
  const { context, request } = visit
  const question = readQuestion(request.query, fields, longest)
  const sought = parseSought(question)
  const { problem } = question.draft()
  const webhooks = await listWebhooks(context.db, member.branch, 0, webhooksPerBranch)
  const print = async () => {
    const found = await search(visit, webhooks, sought)
    return printFound(
      found,
      await findAhead(context.db, member.branch, found.deliveries),
      webhooks,
      question,
      member,
    )
  }
  if (asksForStream(request) && !problem) return streamPart(visit, memberWatcher(visit, member), print)
  // Older pages do not change under the reader.
  const live = sought.before === undefined && !problem
  const part = problem ? html`` : await print()
  return sendPortal(visit, member, {
    title: 'Deliveries',
    section: '/deliveries',
    live,
    ...(problem && { status: 400 }),
    body: html`<h1>Deliveries</h1>
${printFilter(question, webhooks, member)}
${live ? livePart(request, part) : part}`,
  })
}

function search(
  { context }: Visit,
  webhooks: readonly Webhook[],
  { webhookId, filter, before }: DeliveryPageQuery,
) {
  const chosen = webhooks.filter((webhook) => webhookId === undefined || webhook.id === webhookId)
  return searchDeliveries(context.db, chosen, filter, before, pageSize)
}

function parseSought(question: Question): DeliveryPageQuery {
  const filter = {
    state: question.oneOf('state', ['unfinished', ...deliveryStates]),
    kind: question.oneOf('kind', kinds),
    entity: question.text('entity'),
    from: question.moment('from'),
    to: question.moment('to'),
  }
  if (filter.from && filter.to && filter.from >= filter.to)
    question.refuse({ field: 'from', problem: 'must be earlier than the end' })
  return { webhookId: numberOf(question.text('webhook')), filter, before: question.text('before') }
}

/** What is no number finds nothing. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d{1,16}$/.test(text) ? Number(text) : 0
}

function printFilter(question: Question, webhooks: readonly Webhook[], { home }: Member): Html {
  const draft = question.draft()
  const urls = webhooks.map(({ id, url }) => ({ value: String(id), label: cut(`${id}: ${url}`, 80) }))
  const moment = html`type="datetime-local"`
  return html`<form class="card filter" method="get" action="${home}/deliveries" role="search"
    aria-label="Deliveries">
${choiceField(draft, { name: 'webhook', label: 'Webhook' }, [any, ...urls])}
${choiceField(draft, { name: 'state', label: 'State' }, [any, ...deliveryStates.map((value) => ({ value, label: stateLabels[value] })), allThatWait])}
${choiceField(draft, { name: 'kind', label: 'Kind' }, anyOf(kinds))}
${textField(draft, {
  name: 'entity',
  label: 'Entity',
  more: html`placeholder="transaction:42"
  maxlength="${longest}" spellcheck="false"`,
})}
${textField(draft, { name: 'from', label: 'From (UTC)', more: moment })}
${textField(draft, { name: 'to', label: 'Until (UTC)', more: moment })}
<div class="field"><button class="primary">Show</button></div>
</form>`
}

function printFound(
  found: FoundDeliveries,
  ahead: ReadonlyMap<string, BlockingDelivery>,
  webhooks: readonly Webhook[],
  question: Question,
  { home }: Member,
): Html {
  const { deliveries, next } = found
  const first = `${home}/deliveries?${question.print()}`
  const further = next !== undefined && `${home}/deliveries?${question.print({ before: next })}`
  return html`${printDeliveries(deliveries, webhooks, home, ahead)}
<nav class="pages" aria-label="Pages"><a href="${first}">Newest</a>
${
  further &&
  html`<a href="${further}"
  rel="next">${deliveries.length < pageSize ? 'Look further back' : 'Older'}</a>`
}</nav>`
}
