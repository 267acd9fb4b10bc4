/** The delivery log: filters, pages, and the newest of them live. */

import type { FieldProblem } from '../../../problem.ts'
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
import { any, anyOf, choice, moment, oneOf, text } from '../../frame/field.ts'
import type { ValuesOf } from '../../frame/form.ts'
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

const fields = {
  webhook: choice({ label: 'Webhook' }),
  state: oneOf({
    label: 'State',
    of: ['unfinished', ...deliveryStates],
    choices: [any, ...deliveryStates.map((value) => ({ value, label: stateLabels[value] })), allThatWait],
  }),
  kind: oneOf({ label: 'Kind', of: kinds, choices: anyOf(kinds) }),
  entity: text({
    label: 'Entity',
    most: longest,
    more: html`placeholder="transaction:42" spellcheck="false"`,
  }),
  from: moment({ label: 'From (UTC)' }),
  to: moment({ label: 'Until (UTC)' }),
  /** Where the page begins; it has no field of the form. */
  before: text({ label: '', most: longest }),
}
type Asked = Partial<ValuesOf<typeof fields>>
type DeliveryQuestion = Question<typeof fields>

interface DeliveryPageQuery {
  readonly webhookId: number | undefined
  readonly filter: DeliveryFilter
  readonly before: string | undefined
}

export async function showDeliveries(visit: Visit, member: Member) {
  const { context, request } = visit
  const question = readQuestion(visit.query, fields, findFaults)
  const sought = soughtBy(question.values)
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
  if (asksForStream(request) && !question.isWrong)
    return streamPart(visit, memberWatcher(visit, member), print)
  // Older pages do not change under the reader.
  const live = sought.before === undefined && !question.isWrong
  const part = question.isWrong ? html`` : await print()
  return sendPortal(visit, member, {
    title: 'Deliveries',
    section: '/deliveries',
    live,
    status: question.status,
    body: html`<h1>Deliveries</h1>
${printFilter(question, webhooks, member)}
${live ? livePart(visit, part) : part}`,
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

function findFaults({ from, to }: Asked): FieldProblem[] {
  return from && to && from >= to ? [{ field: 'from', problem: 'must be earlier than the end' }] : []
}

function soughtBy({ webhook, state, kind, entity, from, to, before }: Asked): DeliveryPageQuery {
  return { webhookId: numberOf(webhook), filter: { state, kind, entity, from, to }, before }
}

/** What is no number finds nothing. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d{1,16}$/.test(text) ? Number(text) : 0
}

function printFilter({ view }: DeliveryQuestion, webhooks: readonly Webhook[], { home }: Member): Html {
  const urls = webhooks.map(({ id, url }) => ({ value: String(id), label: cut(`${id}: ${url}`, 80) }))
  return html`<form class="card filter" method="get" action="${home}/deliveries" role="search"
    aria-label="Deliveries">
${view.field('webhook', { choices: [any, ...urls] })}
${view.field('state')}
${view.field('kind')}
${view.field('entity')}
${view.field('from')}
${view.field('to')}
<div class="field"><button class="primary">Show</button></div>
</form>`
}

function printFound(
  found: FoundDeliveries,
  ahead: ReadonlyMap<string, BlockingDelivery>,
  webhooks: readonly Webhook[],
  question: DeliveryQuestion,
  { home }: Member,
): Html {
  const { deliveries, next } = found
  const first = `${home}/deliveries?${question.print({ before: undefined })}`
  const further = next !== undefined && `${home}/deliveries?${question.print({ before: next })}`
  return html`${printDeliveries(deliveries, webhooks, home, ahead)}
<nav class="pages" aria-label="Pages"><a href="${first}">Newest</a>
${
  further &&
  html`<a href="${further}"
  rel="next">${deliveries.length < pageSize ? 'Look further back' : 'Older'}</a>`
}</nav>`
}
