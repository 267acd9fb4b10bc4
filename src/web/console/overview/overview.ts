/** What an operator sees first: what waits for them, and whether all is well. */

import { after, hour, second } from '../../../clock.ts'
import { countFailedCalls, type FailedCount } from '../../../partners/calls.ts'
import { kindsSeenBy, listOpenProposals, type Proposal } from '../../../proposals/proposal.ts'
import { listWorkers, type SeenWorker } from '../../../webhooks/engine/worker-list.ts'
import { findAwayParts, printAwayParts } from '../../../webhooks/events/away-parts.ts'
import { unwellConditions } from '../../../webhooks/health/condition.ts'
import { allThatWait, type Depths, readDepths } from '../../../webhooks/health/depths.ts'
import { readFailures, type WebhookFailure } from '../../../webhooks/health/failure.ts'
import { chooseLanes, type LaneHealth } from '../../../webhooks/health/lane-health.ts'
import { readLaneStates } from '../../../webhooks/health/lane-state.ts'
import { everyWebhook, readCounts } from '../../../webhooks/health/webhook-counts.ts'
import type { Period } from '../../../webhooks/subscriptions/columns.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { badge, facts, printMoment, type Tone, table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { chartScript, periodOf, printCharts } from '../../parts/charts.ts'
import { printWhy } from '../../parts/failure-words.ts'
import { conditionBadge, countBadges } from '../../parts/health-words.ts'
import { sendConsole } from '../frame/console.ts'
import { proposalsPage } from '../frame/four-eyes.ts'
import { held } from '../frame/held.ts'
import { findNames, type Names } from '../frame/names.ts'
import { printProposal, subjectsOf } from '../proposals/proposals.ts'
import { printDuration } from '../webhooks/lane-words.ts'
import { findAttention, printAttention } from './attention.ts'

const here = '/console'
const listed = 5
const refusedLookedAt = 1_000
const proposalsShown = 10

export async function showOverview(visit: Visit, operator: Operator) {
  const period = periodOf(visit)
  const print = printerOf(visit, period, operator)
  if (asksForStream(visit.request)) return streamPart(visit, operatorWatcher(visit, operator), print)
  return sendConsole(visit, operator, {
    title: 'Console',
    section: here,
    live: true,
    scripts: [chartScript],
    body: html`<h1>Console</h1>${livePart(visit, await print())}`,
  })
}

/** Each part is asked anew as often as its cost allows. */
function printerOf({ context }: Visit, period: Period, operator: Operator): () => Promise<Html> {
  const { db, clock, config, vault } = context
  const lanes = held(() => readLaneStates(db, clock.now()), second)
  const attention = held(
    () => findAttention({ db, config, vault, operator, now: clock.now(), lanes }),
    second,
  )
  const depths = held(() => readDepths(db, clock.now(), lanes()), second)
  const unwell = { conditions: unwellConditions, environment: 'live' } as const
  const worst = held(async () => {
    const found = await chooseLanes(db, await lanes(), unwell, clock.now(), { most: listed, skip: 0 })
    return { lanes: found, failures: await readFailures(db, found) }
  }, second)
  const workers = held(() => listWorkers(db, clock.now()), second)
  const proposals = held(() => findProposals(context, operator), second)
  const refused = held(() => readRefused(context), second)
  const counts = held(() => readCounts(db, everyWebhook, period, clock.now()), 10 * second)
  const away = held(() => findAwayParts(db), second)
  return async () => {
    const parts = await away()
    if (parts.length > 0)
      return html`${printProposals(await proposals(), clock.now())}
<p class="notice error">${printAwayParts(parts)}. What waits there is not known: it is sent when they are
  back. Other partners' webhooks go on.</p>
${printWorkers(await workers())}`
    const [proposed, waiting, deep, calls, ailing, seen, counted] = await Promise.all([
      ...([proposals(), attention(), depths(), refused()] as const),
      ...([worst(), workers(), counts()] as const),
    ])
    return html`${printProposals(proposed, clock.now())}
${printAttention(waiting, operator)}
${printQueue(deep, calls)}
${printLanes(deep.webhooks, ailing, clock.now())}
${printWorkers(seen)}
${printCharts(counted, {
  title: 'Attempts of all webhooks',
  ...{ period, here, durations: 'delivered' },
  ...{ waiting: allThatWait(deep), blocked: deep.blocked },
})}`
  }
}

interface WaitingProposals {
  readonly open: readonly Proposal[]
  readonly names: Names
}

async function findProposals({ db, clock }: Visit['context'], operator: Operator): Promise<WaitingProposals> {
  const open = await listOpenProposals(db, kindsSeenBy(operator.may), clock.now(), proposalsShown)
  return { open, names: await findNames(db, subjectsOf(open), operator) }
}

/** Above everything else: a proposer waits for it, and it ends by itself. */
function printProposals({ open, names }: WaitingProposals, now: Date): Html | undefined {
  if (open.length === 0) return undefined
  return html`<section class="card"><h2>Proposals</h2>
<ul class="tokens">${open.map((each) => printProposal(each, names, now))}</ul><p><a
  href="${proposalsPage}">All proposals</a></p></section>`
}

function readRefused({ db, clock }: Visit['context']): Promise<FailedCount> {
  return countFailedCalls(db, after(clock.now(), -hour), refusedLookedAt)
}

function printQueue(depths: Depths, { calls, partners }: FailedCount): Html {
  const count = (number: number) => number.toLocaleString('en')
  const refused =
    calls === 0
      ? 'none'
      : `${count(calls)}${calls >= refusedLookedAt ? ' or more' : ''}, of ${count(partners)} partner${partners === 1 ? '' : 's'}`
  return html`<section class="card"><h2>Queue</h2>
${facts([
  ['Events to dispatch', count(depths.inbox)],
  ['Deliveries waiting', count(allThatWait(depths))],
  ['Of them queued behind an earlier one', count(depths.blocked)],
  ['Oldest overdue', depths.overdueSeconds > 0 ? printDuration(depths.overdueSeconds * second) : 'none'],
  ['Failed after all retries', count(depths.exhausted)],
  ['Webhooks delivering now', count(depths.lanesHeld)],
  ['Failed API calls, last hour', refused],
])}
<p class="small">Live and sandbox together. Waiting counts everything that waits: what is due, paused,
  waits for its next attempt or is queued behind an earlier one, and replays.
  Of failed API calls the newest hundred of a partner are kept; calls
that name no partner are in the metrics alone.</p></section>`
}

interface Worst {
  readonly lanes: readonly LaneHealth[]
  readonly failures: ReadonlyMap<number, WebhookFailure>
}

function printLanes(counts: Depths['webhooks'], worst: Worst, now: Date): Html {
  const links = countBadges(counts).map(
    ({ condition, badge }) =>
      html`<li><a href="/console/webhooks?condition=${encodeURIComponent(condition)}">${badge}</a></li>`,
  )
  return html`<section class="card"><h2>Webhooks</h2><ul class="legend"
    aria-label="How many there are">${links}</ul></section>
${worst.lanes.length > 0 && printWorst(worst, now)}`
}

function printWorst({ lanes, failures }: Worst, now: Date): Html {
  const rows = lanes.map(
    (lane) => html`<tr>
<td class="url"><a href="/console/webhooks/${lane.id}">${lane.url}</a></td>
<td>${conditionBadge(lane)}</td>
<td class="why">${printWhy(lane.condition, failures.get(lane.id), `/console/webhooks/${lane.id}/incident`)}</td>
<td><a href="/console/partners/${lane.branchId}">${lane.partner}</a></td>
<td>${lane.failingSince ? printDuration(now.getTime() - lane.failingSince.getTime()) : '–'}</td>
</tr>`,
  )
  return table(
    'Live webhooks that need attention',
    ['URL', 'Health', 'Last answer', 'Partner', 'Failing for'],
    rows,
  )
}

const workerTones: Record<SeenWorker['state'], Tone> = { well: 'good', silent: 'wait', gone: 'bad' }
const workerWords: Record<SeenWorker['state'], string> = {
  well: 'active',
  silent: 'not responding',
  gone: 'stopped',
}

/** A row for each process that delivers. */
function printWorkers(workers: readonly SeenWorker[]): Html {
  if (workers.length === 0)
    return html`<section class="card"><h2>Workers</h2><p class="empty">No worker is running:
      no node has the role worker.</p></section>`
  const rows = workers.map(
    ({ number, address, since, lanes, state }) => html`<tr>
<td>${number}</td>
<td>${address ?? 'this machine'}</td>
<td>${since ? printMoment(since) : '–'}</td>
<td>${lanes.toLocaleString('en')}</td>
<td>${badge(workerTones[state], workerWords[state])}</td>
</tr>`,
  )
  return html`<section class="card"><h2>Workers</h2>
${table('Workers', ['Worker', 'Address', 'Since', 'Webhooks', 'State'], rows)}</section>`
}
