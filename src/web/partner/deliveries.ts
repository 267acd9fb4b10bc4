/** The delivery log: filters, pages, and the newest of them live. */
import type { Form } from '../../http/form.ts'
import { type FieldProblem, Invalid } from '../../problem.ts'
import { type DeliveryFilter, deliveryStates } from '../../webhooks/delivery.ts'
import { type FoundDeliveries, searchDeliveries } from '../../webhooks/delivery-search.ts'
import { type Kind, kinds } from '../../webhooks/kind.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../webhooks/webhook.ts'
import { choiceField, type Draft, textField } from '../form-fields.ts'
import { type Html, html } from '../html.ts'
import { asksForStream, livePart, streamPart } from '../live.ts'
import { parseMoment } from '../moment.ts'
import type { Visit } from '../visit.ts'
import { printDeliveries } from './delivery-table.ts'
import { type Member, watcherOf } from './member.ts'
import { sendPortal } from './portal.ts'

const pageSize = 50
const fields = ['webhook', 'state', 'kind', 'entity', 'from', 'to'] as const

interface Question {
  readonly draft: Draft
  readonly webhookId: number | undefined
  readonly filter: DeliveryFilter
  readonly before: number | undefined
}

export async function showDeliveries(visit: Visit, member: Member) {
  const { context, request } = visit
  const question = parseQuestion(request.query as Form)
  const webhooks = await listWebhooks(context.db, member.branch, 0, webhooksPerBranch)
  const print = async () => printFound(await search(visit, webhooks, question), webhooks, question, member)
  if (asksForStream(request) && !question.draft.problem) return streamPart(visit, watcherOf(visit, member), print)
  // Older pages do not change under the reader.
  const live = question.before === undefined && !question.draft.problem
  const part = question.draft.problem ? html`` : await print()
  return sendPortal(visit, member, {
    title: 'Deliveries',
    section: '/deliveries',
    live,
    ...(question.draft.problem && { status: 400 }),
    body: html`<h1>Deliveries</h1>
${printFilter(question, webhooks, member)}
${live ? livePart(request, part) : part}`,
  })
}

function search({ context }: Visit, webhooks: readonly Webhook[], { webhookId, filter, before }: Question) {
  const chosen = webhooks.filter((webhook) => webhookId === undefined || webhook.id === webhookId)
  const ids = chosen.map((webhook) => webhook.id)
  return searchDeliveries(context.db, ids, filter, before ?? Number.MAX_SAFE_INTEGER, pageSize)
}

function parseQuestion(query: Form): Question {
  const values = Object.fromEntries(fields.map((name) => [name, textOf(query[name])]))
  const problems: FieldProblem[] = []
  const one = <Word extends string>(field: string, words: readonly Word[]): Word | undefined => {
    const word = values[field]
    if (word === undefined || (words as readonly string[]).includes(word)) return word as Word | undefined
    problems.push({ field, problem: `must be one of ${words.join(', ')}` })
    return undefined
  }
  const instant = (field: 'from' | 'to') => {
    const moment = parseMoment(values[field])
    if (moment === 'wrong') problems.push({ field, problem: 'must be a moment such as 2026-03-02T10:00' })
    return moment === 'wrong' ? undefined : moment
  }
  const filter = {
    state: one('state', deliveryStates),
    kind: one<Kind>('kind', kinds),
    entity: values.entity?.slice(0, 100).replaceAll('\0', ''),
    ...{ from: instant('from'), to: instant('to') },
  }
  if (filter.from && filter.to && filter.from >= filter.to)
    problems.push({ field: 'from', problem: 'must be earlier than the end' })
  const problem = problems.length > 0 ? new Invalid(problems) : undefined
  const [webhookId, before] = [numberOf(values.webhook), numberOf(textOf(query.before))]
  return { draft: { values, problem }, webhookId, filter, before }
}

function textOf(value: Form[string] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value
  return text === undefined || text.trim() === '' ? undefined : text.trim()
}

/** What is no number finds nothing. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d{1,15}$/.test(text) ? Number(text) : 0
}

function printFilter({ draft }: Question, webhooks: readonly Webhook[], { home }: Member): Html {
  const any = { value: '', label: 'any' }
  const words = (all: readonly string[]) => [any, ...all.map((value) => ({ value, label: value }))]
  const urls = webhooks.map(({ id, url }) => ({ value: String(id), label: `${id}: ${url}`.slice(0, 80) }))
  const moment = html`type="datetime-local"`
  return html`<form class="card filter" method="get" action="${home}/deliveries" role="search" aria-label="Deliveries">
${choiceField(draft, { name: 'webhook', label: 'Webhook' }, [any, ...urls])}
${choiceField(draft, { name: 'state', label: 'State' }, words(deliveryStates))}
${choiceField(draft, { name: 'kind', label: 'Kind' }, words(kinds))}
${textField(draft, { name: 'entity', label: 'Entity', more: html`placeholder="transaction:42" maxlength="100" spellcheck="false"` })}
${textField(draft, { name: 'from', label: 'From (UTC)', more: moment })}
${textField(draft, { name: 'to', label: 'Until (UTC)', more: moment })}
<div class="field"><button class="primary">Show</button></div>
</form>`
}

function printFound(found: FoundDeliveries, webhooks: readonly Webhook[], { draft }: Question, { home }: Member): Html {
  const { deliveries, next } = found
  const given = Object.entries(draft.values).filter((each): each is [string, string] => each[1] !== undefined)
  const first = `${home}/deliveries?${new URLSearchParams(given)}`
  const further = next !== undefined && `${first}&before=${next}`
  return html`${printDeliveries(deliveries, webhooks, home)}
<nav class="pages" aria-label="Pages"><a href="${first}">Newest</a>
${further && html`<a href="${further}" rel="next">${deliveries.length < pageSize ? 'Look further back' : 'Older'}</a>`}</nav>`
}
