/** The delivery log: filters, pages, and the newest of them live. */

import type { Sql } from '../../../database/database.ts'
import { type FieldProblem, Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import {
  type DeliveryFilter,
  deliveryStates,
  redeliverAll,
  type SentAgain,
} from '../../../webhooks/deliveries/delivery.ts'
import { searchDeliveries } from '../../../webhooks/deliveries/delivery-search.ts'
import { kinds } from '../../../webhooks/events/kind.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { any, anyOf, choice, moment, oneOf, text } from '../../frame/field.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission, ValuesOf } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, printList, sendListFile } from '../../frame/list.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import { printListBar } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { retrying, stateLabels } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { deliveryList, describeDeliveries, type ListedDelivery } from './delivery-table.ts'
import * as forms from './forms.ts'

const pageSize = forms.sentAgainAtMost
const longest = 100
const allThatWait = { value: 'unfinished', label: 'everything that waits' }

const fields = {
  webhook: choice({ label: 'Webhook' }),
  state: oneOf({
    label: 'State',
    of: ['unfinished', retrying, ...deliveryStates],
    choices: [
      any,
      ...deliveryStates.flatMap((value) => [
        { value, label: stateLabels[value] },
        ...(value === 'waiting' ? [{ value: retrying, label: retrying }] : []),
      ]),
      allThatWait,
    ],
  }),
  kind: oneOf({ label: 'Kind', of: kinds, choices: anyOf(kinds) }),
  entity: text({
    label: 'Entity',
    most: longest,
    more: html`placeholder="transaction:42" spellcheck="false"`,
  }),
  from: moment({ label: 'From' }),
  to: moment({ label: 'Until' }),
  /** Where the page begins; it has no field of the form. */
  before: text({ label: '', most: longest }),
}
type Asked = Partial<ValuesOf<typeof fields>>
type DeliveryQuestion = Question<typeof fields>

export async function showDeliveries(visit: Visit, member: Member) {
  const { context, request } = visit
  const question = readQuestion(visit.query, fields, findFaults)
  const { before } = question.values
  const webhooks = await listWebhooks(context.db, member.branch, 0, webhooksPerBranch)
  const list = listOf(visit, webhooks, question, member)
  if (asksForFile(visit)) return sendListFile(visit, member, memberWatcher(visit, member), list, question)
  const print = async () => printFound(list, await list.read(before, pageSize), question, member)
  if (asksForStream(request) && !question.isWrong)
    return streamPart(visit, memberWatcher(visit, member), print)
  // Older pages do not change under the reader.
  const live = before === undefined && !question.isWrong
  const part = question.isWrong ? html`` : await print()
  return sendPortal(visit, member, {
    title: 'Deliveries',
    section: '/deliveries',
    live,
    ...(question.isWrong && { status: question.status }),
    body: html`<h1>Deliveries</h1>
${printFilter(question, webhooks, member)}
${await printListBar(visit, member, `${member.home}/deliveries`, question)}
${live ? livePart(visit, part) : part}`,
  })
}

type DeliveryList = List<ListedDelivery, string>

function listOf(
  { context: { db, clock } }: Visit,
  webhooks: readonly Webhook[],
  question: DeliveryQuestion,
  { branch, home, isDeveloper }: Member,
): DeliveryList {
  const { webhook: id, state, kind, entity, from, to } = question.values
  const webhookId = numberOf(id)
  const chosen = webhooks.filter((webhook) => webhookId === undefined || webhook.id === webhookId)
  return {
    ...deliveryList({ home, sendAgain: isDeveloper ? sendAgainForm : undefined }),
    async read(before, most) {
      const filter = { ...chosenStates(state), kind, entity, from, to }
      const { deliveries, next } = await searchDeliveries(db, chosen, filter, before, most)
      return { rows: await describeDeliveries(db, branch, deliveries, webhooks, clock.now()), next }
    },
  }
}

type AskedState = Asked['state']

/** What was tried is retrying, and what was not is waiting: to programs both are waiting. */
function chosenStates(state: AskedState): Pick<DeliveryFilter, 'state' | 'isTried'> {
  if (state === retrying) return { state: 'waiting', isTried: true }
  return { state, isTried: state === 'waiting' ? false : undefined }
}

function findFaults({ from, to }: Asked): FieldProblem[] {
  return from && to && from >= to ? [{ field: 'from', problem: 'must be earlier than the end' }] : []
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
  list: DeliveryList,
  { rows, next }: Awaited<ReturnType<DeliveryList['read']>>,
  question: DeliveryQuestion,
  member: Member,
): Html {
  const { home } = member
  const first = `${home}/deliveries?${question.printSearch()}`
  const further = next !== undefined && `${home}/deliveries?${question.print({ before: next })}`
  return html`${member.isDeveloper && rows.length > 0 && printSendAgain(question, member)}
${printList(list, rows)}
<nav class="pages" aria-label="Pages"><a href="${first}">Newest</a>
${
  further &&
  html`<a href="${further}"
  rel="next">${rows.length < pageSize ? 'Look further back' : 'Older'}</a>`
}</nav>`
}

const sendAgainForm = 'send-again'

function printSendAgain(question: DeliveryQuestion, { forms: on }: Member): Html {
  const options = { standing: { search: question.printSearch() }, attributes: html`id="${sendAgainForm}"` }
  return on.print(
    forms.sendAgain,
    options,
    (view) => html`${view.problem('delivery', 'Deliveries')}${view.button('Send ticked again')}
<span class="small">Tick deliveries in the table. What waits is tried now; what has ended is sent again.</span>`,
  )
}

/** In the order of their webhooks; what waits behind another goes when that has gone. */
export async function sendAgain(visit: Visit, member: Member, form: Submission<typeof forms.sendAgain>) {
  const { context } = visit
  const { delivery: ids, search } = form.values
  if (ids.length === 0 || ids.length > forms.sentAgainAtMost)
    throw new Invalid([{ field: 'delivery', problem: `must be 1 to ${forms.sentAgainAtMost} ticked rows` }])
  const make = (db: Sql) => redeliverAll(db, member.branch, ids, member.act)
  const here = `${member.home}/deliveries`
  const back = `${here}?${new URLSearchParams(search)}`
  const result = await makeOnce(context, member, form, make, () => back)
  const link = { path: `${here}?state=unfinished`, label: 'Everything that waits' }
  return leadToDone(visit, member, back, { text: describeSent(result), link })
}

function describeSent(result: Awaited<ReturnType<typeof makeOnce<SentAgain>>>): string {
  if (result.kind === 'before') return 'They were sent again before.'
  const { sent, blocked } = result.made
  const words = `${sent} ${sent === 1 ? 'delivery is' : 'deliveries are'} sent again.`
  return blocked === 0 ? words : `${words} ${blocked} wait behind an earlier one of the same entity.`
}
