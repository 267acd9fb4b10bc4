/**
 * Why a partner's webhook fails, for operators: the same parts as the partner sees, and the same acts, under
 * their own name.
 */

import type { Sql } from '../../../database/database.ts'
import type { Problem } from '../../../problem.ts'
import { type Probe, startProbe } from '../../../webhooks/deliveries/probe.ts'
import { countRecovery, findRecoveryRefusal, startRecovery } from '../../../webhooks/deliveries/recovery.ts'
import type { Replay } from '../../../webhooks/deliveries/replay.ts'
import { getLane, type LaneHealth } from '../../../webhooks/health/lane-health.ts'
import { countedAtMost } from '../../../webhooks/health/webhook-health.ts'
import { findProblem } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { csrfField, notice, printDate } from '../../frame/page.ts'
import { crumbs, facts } from '../../frame/parts.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type StrongOperator } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import {
  addressOfProbe,
  type IncidentLinks,
  printIncident,
  readIncident,
  readProbe,
} from '../../parts/incident.ts'
import { sendConsole } from '../frame/console.ts'
import { laneBadge } from './lane-words.ts'

const webhooks = '/console/webhooks'
/** Ids and entities are the partner's to open; here they are words. */
const links: IncidentLinks = {
  delivery: (id) => id,
  entity: (name) => name,
  recovery: undefined,
  signature: undefined,
}

export function showIncident(visit: Visit, operator: Operator) {
  if (asksForStream(visit.request))
    return streamPart(visit, operatorWatcher(visit, operator), () => printPart(visit))
  return sendIncident(visit, operator, undefined)
}

export async function probe(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const { context } = visit
  const lane = await laneOf(visit)
  const make = async (db: Sql) => {
    await context.probes.count(String(lane.id))
    return startProbe(db, lane, operator.act)
  }
  let result: SubmissionResult<Probe> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(context, operator, form, make, (made) => addressOfProbe(pathOf(lane), made))
  })
  if (problem) return sendIncident(visit, operator, problem)
  return leadToDone(visit, operator, result!.path, {
    text: 'One attempt is made now.',
    link: toWebhook(lane),
  })
}

/** From the beginning of its trouble: what would happen, before it does. */
export async function showRecovery(visit: Visit, operator: Operator) {
  return sendRecovery(visit, operator, undefined)
}

export async function recover(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const { context } = visit
  const lane = await laneOf(visit)
  const make = (db: Sql) => startRecovery(db, lane, sinceOf(lane), operator.act)
  let result: SubmissionResult<Replay> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(context, operator, form, make, () => pathOf(lane))
  })
  if (problem) return sendRecovery(visit, operator, problem)
  return leadToDone(visit, operator, result!.path, {
    text: 'The recovery has started.',
    link: toWebhook(lane),
  })
}

const toWebhook = ({ id }: LaneHealth) => ({ path: `${webhooks}/${id}`, label: `Webhook ${id}` })

function laneOf({ context, request }: Visit): Promise<LaneHealth> {
  return getLane(context.db, idOf(paramsOf(request).id), context.clock.now())
}

function pathOf({ id }: LaneHealth): string {
  return `${webhooks}/${id}/incident`
}

/**
 * Of one that does not fail any more: since it was last changed, by the person who paused, resumed or
 * disabled it.
 */
function sinceOf({ failingSince, updatedAt }: LaneHealth): Date {
  return failingSince ?? updatedAt
}

const trail = (lane: LaneHealth) => [
  { path: webhooks, label: 'Webhooks' },
  { path: `${webhooks}/${lane.id}`, label: `Webhook ${lane.id}` },
]

async function sendIncident(visit: Visit, operator: Operator, problem: Problem | undefined) {
  const lane = await laneOf(visit)
  const refusal = await findRecoveryRefusal(visit.context.db, lane)
  const part = await printPart(visit)
  return sendConsole(visit, operator, {
    title: `Why webhook ${lane.id} fails`,
    section: webhooks,
    live: problem === undefined,
    status: problem?.status ?? 200,
    body: html`${crumbs(trail(lane))}
<h1>Why webhook ${lane.id} fails</h1>
<p><code>${lane.url}</code> of <a href="/console/partners/${lane.branchId}">${lane.partner}</a>,
  ${lane.environment}</p>
${problem && notice('error', problem.message)}
${printActs(lane, refusal, operator)}
${problem ? part : livePart(visit.request, part)}`,
  })
}

/** What would be refused is not offered. */
function printActs(lane: LaneHealth, refusal: string | undefined, { csrf, may }: Operator): Html {
  const operates = may('webhooks.operate')
  const probes = operates && lane.state === 'active' && lane.condition !== 'held' && lane.dueAt !== null
  return html`<div class="acts">
${
  probes &&
  html`<form method="post" action="${pathOf(lane)}/probe">${csrfField(csrf)}${onceField()}<button
  class="primary">Probe now</button></form>`
}
${
  operates &&
  refusal === undefined &&
  html`<a class="button"
  href="${webhooks}/${lane.id}/recover">Recover…</a>`
}
<a class="button" href="${webhooks}/${lane.id}">Webhook ${lane.id}</a></div>
${operates && refusal !== undefined && html`<p>${refusal}</p>`}
${
  operates &&
  html`<p class="small">A probe is one attempt at once, of the delivery that is next:
  it counts as one of its attempts. The partner sees what you do here in its audit entries.</p>`
}`
}

async function printPart(visit: Visit): Promise<Html> {
  const lane = await laneOf(visit)
  const incident = await readIncident(visit.context.db, lane, lane.condition, readProbe(visit))
  return html`<p>${laneBadge(lane.condition)}</p>${printIncident(incident, links)}`
}

async function sendRecovery(visit: Visit, operator: Operator, problem: Problem | undefined) {
  const { db, clock } = visit.context
  const lane = await laneOf(visit)
  const since = sinceOf(lane)
  const { total, waiting } = await countRecovery(db, lane, since, clock.now())
  const refusal = await findRecoveryRefusal(db, lane)
  return sendConsole(visit, operator, {
    title: 'Recover',
    section: webhooks,
    status: problem?.status ?? 200,
    body: html`${crumbs([...trail(lane), { path: pathOf(lane), label: 'Why it fails' }])}
<h1>Recover webhook ${lane.id}</h1>
${problem && notice('error', problem.message)}
<section class="card">
<p>For when <code>${lane.url}</code> answers again. Probe first.</p>
${facts([
  ['Trouble since', printDate(since)],
  ['Waiting for the next attempt, and tried now', printCount(waiting)],
  ['Failed after all retries, and sent again in order', printCount(total ?? countedAtMost)],
  ['State', lane.state === 'disabled' && 'disabled: it is resumed'],
])}
${
  refusal !== undefined
    ? html`<p>${refusal}</p>`
    : html`<form method="post"
  action="${webhooks}/${lane.id}/recover/start">${csrfField(operator.csrf)}${onceField()}<button
  class="primary">Recover</button></form>`
}
</section>`,
  })
}
