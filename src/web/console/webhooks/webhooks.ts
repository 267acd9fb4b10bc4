/** The webhooks of all partners: which need attention, since when and why, and the means to hold one back. */
import { environments } from '../../../vocabulary/environment.ts'
import { type BlockingDelivery, findAhead } from '../../../webhooks/deliveries/delivery.ts'
import { type DeliverySummary, listNewestDeliveries } from '../../../webhooks/deliveries/delivery-summary.ts'
import {
  type Condition,
  conditions,
  isFailing,
  unwellConditions,
} from '../../../webhooks/health/condition.ts'
import { readFailures, type WebhookFailure } from '../../../webhooks/health/failure.ts'
import { getLane, type LaneHealth, listLanes } from '../../../webhooks/health/lane-health.ts'
import { readCounts } from '../../../webhooks/health/webhook-counts.ts'
import { readWaiting, type Waiting } from '../../../webhooks/health/webhook-health.ts'
import { setWebhookState } from '../../../webhooks/subscriptions/webhook.ts'
import { listHeaderNames } from '../../../webhooks/subscriptions/webhook-headers.ts'
import { anyOf, number, oneOf, questionCharacters, text } from '../../frame/field.ts'
import type { Submission } from '../../frame/form.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, type ListColumn, printList, sendListFile } from '../../frame/list.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs, facts, menu, printMoment, table } from '../../frame/parts.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import { printListBar } from '../../frame/saved-views.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type StrongOperator } from '../../gates/gates.ts'
import { chartScript, periodOf, printCharts } from '../../parts/charts.ts'
import { nameAnswer, printTrouble, printWhy } from '../../parts/failure-words.ts'
import {
  conditionBadge,
  conditionLabels,
  describeCondition,
  labelOf,
  printCount,
  stateBadge,
} from '../../parts/health-words.ts'
import { settingFacts } from '../../parts/webhook-facts.ts'
import { goBack } from '../frame/back.ts'
import { mayFollow, sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'
import { printDuration } from './lane-words.ts'

const here = '/console/webhooks'
const pageSize = 50
/** No operator reads further on; they narrow the question. */
const pagesAtMost = 2_000
const newestShown = 20
const largestBranch = 2 ** 31 - 1

const unwell = 'needs attention'

const asked = {
  condition: oneOf({
    label: 'Health',
    of: [...conditions, unwell],
    choices: [...anyOf([unwell]), ...conditions.map((value) => ({ value, label: conditionLabels[value] }))],
  }),
  site: oneOf({ label: 'Site', of: environments, choices: anyOf(environments) }),
  partner: text({
    label: 'Partner',
    most: questionCharacters,
    more: html`spellcheck="false" placeholder="branch, or part of a name"`,
  }),
  page: number({ label: 'Page' }),
}

type Asked = Question<typeof asked>

export async function showWebhooks(visit: Visit, operator: Operator) {
  const question = readQuestion(visit.query, asked)
  const list = listOf(visit, question, operator)
  if (asksForFile(visit))
    return sendListFile(visit, operator, operatorWatcher(visit, operator), list, question)
  const page = Math.min(question.values.page ?? 1, pagesAtMost)
  const found = question.isWrong ? undefined : await list.read((page - 1) * pageSize, pageSize)
  return sendConsole(visit, operator, {
    title: 'Webhooks',
    section: here,
    status: question.status,
    body: html`<h1>Webhooks</h1>
${printFilter(question)}
${await printListBar(visit, operator, here, question)}
${found && printList(list, found.rows)}
${printPages(question, page, found?.next !== undefined)}`,
  })
}

interface ListedLane {
  readonly lane: LaneHealth
  readonly counts: Waiting | undefined
  readonly failure: WebhookFailure | undefined
}

/** A place in it is how many come before. */
function listOf({ context }: Visit, question: Asked, operator: Operator): List<ListedLane, number> {
  const { db } = context
  const now = context.clock.now()
  const { condition, site: environment, partner } = question.values
  const filter = { conditions: conditionsOf(condition), environment, partner: partnerOf(partner) }
  return {
    name: 'webhooks',
    caption: 'Webhooks, worst first',
    empty: 'There are no such webhooks.',
    columns: columnsOf(operator, now),
    async read(skip = 0, most) {
      const found = await listLanes(db, filter, now, { most: most + 1, skip })
      const lanes = found.slice(0, most)
      const waiting = await readWaiting(db, lanes)
      const failures = await readFailures(db, lanes)
      return {
        rows: lanes.map((lane) => ({
          lane,
          counts: waiting.get(lane.id),
          failure: failures.get(lane.id),
        })),
        next: found.length > most ? skip + most : undefined,
      }
    },
  }
}

function columnsOf(operator: Operator, now: Date): readonly ListColumn<ListedLane>[] {
  return [
    { name: 'Webhook', text: ({ lane }) => lane.id },
    {
      name: 'URL',
      look: 'url',
      cell: ({ lane: { id, url, disabledReason } }) =>
        html`<a href="${here}/${id}">${url}</a>${
          disabledReason !== null && html`<br><span class="faint">${disabledReason}</span>`
        }`,
      text: ({ lane }) => lane.url,
    },
    {
      name: 'Health',
      cell: ({ lane }) => conditionBadge(lane),
      text: ({ lane }) => labelOf(lane),
    },
    {
      name: 'Last answer',
      look: 'why',
      cell: ({ lane, failure }) => printWhy(lane.condition, failure, `${here}/${lane.id}/incident`),
      text: ({ lane, failure }) => isFailing(lane.condition) && failure?.last && nameAnswer(failure.last),
    },
    {
      name: 'Partner',
      cell: ({ lane: { branchId, partner } }) => html`<a href="/console/partners/${branchId}">${partner}</a>`,
      text: ({ lane }) => lane.partner,
    },
    { name: 'Branch', text: ({ lane }) => lane.branchId },
    { name: 'Site', cell: ({ lane }) => printSite(lane), text: ({ lane }) => lane.environment },
    {
      name: 'Failing for',
      cell: ({ lane }) => printSince(lane, now),
      text: ({ lane }) => lane.failingSince && printDuration(now.getTime() - lane.failingSince.getTime()),
    },
    {
      name: 'Waiting',
      look: 'number',
      cell: ({ counts }) => printCount(counts?.waiting ?? 0),
      text: ({ counts }) => printCount(counts?.waiting ?? 0),
    },
    {
      name: 'Oldest overdue',
      cell: ({ lane }) => printOverdue(lane, now),
      text: ({ lane }) => printOverdue(lane, now),
    },
    {
      name: 'Failed after all retries',
      look: 'number',
      cell: ({ counts }) => printCount(counts?.exhausted ?? 0),
      text: ({ counts }) => printCount(counts?.exhausted ?? 0),
    },
    { name: 'Actions', cell: ({ lane }) => printMenu(lane, operator) },
  ]
}

function conditionsOf(chosen: Condition | typeof unwell | undefined): readonly Condition[] | undefined {
  if (chosen === undefined) return undefined
  return chosen === unwell ? unwellConditions : [chosen]
}

/** A number is a branch: partners are not named by numbers alone. */
function partnerOf(text: string | undefined): number | string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text
  // There is no branch 0, nor one past the largest.
  return Number(text) <= largestBranch ? Number(text) : 0
}

function printFilter(question: Asked): Html {
  const { view } = question
  const filter = html`<form class="card filter" method="get" action="${here}" role="search"
    aria-label="Webhooks">
${view.field('condition')}${view.field('site')}${view.field('partner')}
<div class="field">${view.button('Show', { look: 'primary' })}</div>
</form>`
  return html`${question.printProblem()}${filter}`
}

function printPages(question: Asked, page: number, hasMore: boolean): Html {
  const at = (number: number) => `${here}?${question.print({ page: number })}`
  return html`<nav class="pages" aria-label="Pages">
${page > 1 && html`<a href="${at(1)}">Worst</a> <a href="${at(page - 1)}" rel="prev">Back</a>`}
${hasMore && page < pagesAtMost && html`<a href="${at(page + 1)}" rel="next">More</a>`}</nav>`
}

function printMenu(lane: LaneHealth, operator: Operator): Html {
  const { id, url, branchId } = lane
  return menu(url, [
    isFailing(lane.condition) && html`<a href="${here}/${id}/incident">Why it fails</a>`,
    html`<a href="/console/partners/${branchId}">Partner</a>`,
    mayFollow(operator, '/console/audit') &&
      html`<a href="/console/audit?subject=webhook:${id}">Audit entries</a>`,
    operator.may('webhooks.operate') &&
      (lane.state === 'active' ? html`<a href="${here}/${id}#acts">Pause…</a>` : printResume(lane, operator)),
  ])
}

function printResume({ id, url }: LaneHealth, { forms: on }: Operator): Html {
  return on.button(forms.resumeWebhook, 'Resume', { at: { id }, of: url, buttonLook: 'primary' })
}

/** It takes a partner's deliveries from it, until it is resumed. */
export function askToPause(
  { id, url }: Pick<LaneHealth, 'id' | 'url'>,
  { forms: on }: Pick<Operator, 'forms'>,
  from?: 'queue',
): Html {
  const text =
    'Nothing is sent to it until it is resumed. Deliveries are queued, and the partner sees that it is paused.'
  return on.ask(forms.pauseWebhook, { at: { id }, standing: { from }, label: 'Pause', of: url, text })
}

function printSite({ environment }: LaneHealth): Content {
  return environment === 'sandbox' ? badge('off', 'sandbox') : 'live'
}

function printSince({ failingSince, failures }: LaneHealth, now: Date): Content {
  if (!failingSince) return '–'
  return html`${printDuration(now.getTime() - failingSince.getTime())}<br><span
    class="faint">${failures.toLocaleString('en')} in a row</span>`
}

function printOverdue({ dueAt }: LaneHealth, now: Date): string {
  return dueAt && dueAt < now ? printDuration(now.getTime() - dueAt.getTime()) : '–'
}

const doneWords = {
  paused: 'The webhook is paused. Deliveries are queued until it is resumed.',
  active: 'The webhook is resumed. Queued deliveries are now sent.',
}

export async function showWebhook(visit: Visit, operator: Operator) {
  const { db, clock } = visit.context
  const now = clock.now()
  const lane = await getLane(db, idOf(paramsOf(visit.request).id), now)
  const period = periodOf(visit)
  const health = (await readWaiting(db, [lane])).get(lane.id)
  const headerNames = (await listHeaderNames(db, [lane])).get(lane.id)!
  const newest = await listNewestDeliveries(db, lane, newestShown)
  return sendConsole(visit, operator, {
    title: `Webhook ${lane.id}`,
    scripts: [chartScript],
    section: here,
    body: html`${crumbs([{ path: here, label: 'Webhooks' }])}
<h1>Webhook ${lane.id} ${conditionBadge(lane)}</h1>
${isFailing(lane.condition) && printTrouble('Why it fails', (await readFailures(db, [lane])).get(lane.id), `${here}/${lane.id}/incident`)}
${printHealth(lane, headerNames, health, operator, now)}
${printCharts(await readCounts(db, lane.id, period, now), {
  title: 'Attempts',
  ...{ period, here: `${here}/${lane.id}`, durations: 'answered' },
  ...{ waiting: health?.waiting ?? 0, blocked: health?.blocked ?? 0 },
})}
<h2>Newest deliveries</h2>
${printDeliveries(newest, await findAhead(db, lane, newest))}`,
  })
}

function printHealth(
  lane: LaneHealth,
  headerNames: readonly string[],
  health: Waiting | undefined,
  operator: Operator,
  now: Date,
): Html {
  const audit = `/console/audit?${new URLSearchParams({ subject: `webhook:${lane.id}` })}`
  return html`<section class="card">
<p>${describeCondition(lane)}</p>
${lane.disabledReason !== null && html`<p class="notice error">It was disabled: ${lane.disabledReason}</p>`}
${facts([
  [
    'Partner',
    html`<a href="/console/partners/${lane.branchId}">${lane.partner}</a> (branch ${lane.branchId})`,
  ],
  ['Site', lane.environment],
  ['URL', html`<code>${lane.url}</code>`],
  ...settingFacts(lane, headerNames),
  ['Failures in a row', lane.failures > 0 && lane.failures.toLocaleString('en')],
  ['Failing since', lane.failingSince ? printDate(lane.failingSince) : undefined],
  ['Waiting', printCount(health?.waiting ?? 0)],
  ['Oldest overdue', printOverdue(lane, now)],
  ['Failed after all retries', printCount(health?.exhausted ?? 0)],
  ['Created', printDate(lane.createdAt)],
  ['Changed', printDate(lane.updatedAt)],
])}
<div class="acts" id="acts">${operator.may('webhooks.operate') && (lane.state === 'active' ? askToPause(lane, operator) : printResume(lane, operator))}
${mayFollow(operator, audit) && html`<a class="button" href="${audit}">Audit entries</a>`}</div>
<p class="small">The partner sees the state, and may change it as well.</p>
</section>`
}

function printDeliveries(
  deliveries: readonly DeliverySummary[],
  ahead: ReadonlyMap<string, BlockingDelivery>,
): Html {
  if (deliveries.length === 0) return html`<p class="card empty">There are no deliveries here.</p>`
  const rows = deliveries.map(
    (each) => html`<tr>
<td class="number">${each.id}</td>
<td>${stateBadge(each, ahead.get(each.id))}</td>
<td>${each.kind} ${each.action}</td>
<td><code>${each.entity}</code></td>
<td class="number">${each.attempts}</td>
<td>${printLast(each)}</td>
<td>${printMoment(each.createdAt)}</td>
<td>${each.settledAt ? printMoment(each.settledAt) : '–'}</td>
</tr>`,
  )
  const heads = [
    'Delivery',
    'State',
    'Event',
    'Entity',
    'Attempts',
    'Last answer',
    'Created (UTC)',
    'Settled (UTC)',
  ]
  return table('Newest deliveries', heads, rows)
}

/** What a receiver wrote is the partner's to read; its status says enough. */
function printLast({ outcome, status, why, durationMs }: DeliverySummary): Content {
  if (outcome === null || durationMs === null) return '–'
  return `${status ?? why ?? outcome} after ${durationMs.toLocaleString('en')} ms`
}

export const pauseWebhook = stateForm('paused')
export const resumeWebhook = stateForm('active')

/** A second click finds it done, and that is what was wanted. */
function stateForm(state: 'active' | 'paused') {
  return async (
    visit: Visit,
    operator: StrongOperator,
    { values: { from } }: Submission<typeof forms.resumeWebhook>,
  ) => {
    const { context, request } = visit
    const { act } = operator
    const lane = await getLane(context.db, idOf(paramsOf(request).id), act.at)
    if (lane.state !== state) await setWebhookState(context.db, lane, state, act)
    const path = `${here}/${lane.id}`
    // What was resumed is paused for a reason alone.
    const undo = state === 'paused' ? { action: `${path}/resume` } : undefined
    return goBack(visit, operator, {
      path,
      about: `webhook:${lane.id}`,
      name: lane.url,
      text: doneWords[state],
      undo,
      from,
    })
  }
}
