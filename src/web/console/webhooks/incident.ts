/**
 * Why a partner's webhook fails, for operators: the same parts as the partner sees, and the same acts, under
 * their own name.
 */

import type { Sql } from '../../../database/database.ts'
import { startProbe } from '../../../webhooks/deliveries/probe.ts'
import { countRecovery, findRecoveryRefusal, startRecovery } from '../../../webhooks/deliveries/recovery.ts'
import { getLane, type LaneHealth } from '../../../webhooks/health/lane-health.ts'
import { countedAtMost } from '../../../webhooks/health/webhook-health.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { printDate } from '../../frame/page.ts'
import { crumbs, facts } from '../../frame/parts.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type StrongOperator } from '../../gates/gates.ts'
import { conditionBadge, printCount } from '../../parts/health-words.ts'
import {
  addressOfProbe,
  type IncidentLinks,
  printIncident,
  readIncident,
  readProbe,
} from '../../parts/incident.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'

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
  return sendIncident(visit, operator)
}

export async function probe(visit: Visit, operator: StrongOperator, form: Submission<typeof forms.probe>) {
  const { context } = visit
  const lane = await laneOf(visit)
  const make = async (db: Sql) => {
    await context.probes.count(String(lane.id))
    return startProbe(db, lane, operator.act)
  }
  const { path } = await makeOnce(context, operator, form, make, (made) => addressOfProbe(pathOf(lane), made))
  return leadToDone(visit, operator, path, { text: 'One attempt is made now.', link: toWebhook(lane) })
}

/** From the beginning of its trouble: what would happen, before it does. */
export async function showRecovery(visit: Visit, operator: Operator) {
  const { db, clock } = visit.context
  const lane = await laneOf(visit)
  const since = sinceOf(lane)
  const { total, waiting } = await countRecovery(db, lane, since, clock.now())
  const refusal = await findRecoveryRefusal(db, lane)
  return sendConsole(visit, operator, {
    title: 'Recover',
    section: webhooks,
    body: html`${crumbs([...trail(lane), { path: pathOf(lane), label: 'Why it fails' }])}
<h1>Recover webhook ${lane.id}</h1>
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
    : operator.forms.button(forms.recover, 'Recover', { buttonLook: 'primary' })
}
</section>`,
  })
}

export async function recover(
  visit: Visit,
  operator: StrongOperator,
  form: Submission<typeof forms.recover>,
) {
  const { context } = visit
  const lane = await laneOf(visit)
  const make = (db: Sql) => startRecovery(db, lane, sinceOf(lane), operator.act)
  const { path } = await makeOnce(context, operator, form, make, () => pathOf(lane))
  return leadToDone(visit, operator, path, { text: 'The recovery has started.', link: toWebhook(lane) })
}

const toWebhook = ({ id }: LaneHealth) => ({ path: `${webhooks}/${id}`, label: `Webhook ${id}` })

function laneOf({ context, request }: Visit): Promise<LaneHealth> {
  return getLane(context.db, idOf(paramsOf(request).id), context.clock.now())
}

function pathOf({ id }: LaneHealth): string {
  return `${webhooks}/${id}/incident`
}

/** Of one that does not fail any more: since it was last changed. */
function sinceOf({ troubleSince, updatedAt }: LaneHealth): Date {
  return troubleSince ?? updatedAt
}

const trail = (lane: LaneHealth) => [
  { path: webhooks, label: 'Webhooks' },
  { path: `${webhooks}/${lane.id}`, label: `Webhook ${lane.id}` },
]

async function sendIncident(visit: Visit, operator: Operator) {
  const lane = await laneOf(visit)
  const refusal = await findRecoveryRefusal(visit.context.db, lane)
  const part = await printPart(visit)
  // A form that was refused has no address that a stream could ask for.
  const live = !operator.forms.isReturned
  return sendConsole(visit, operator, {
    title: `Why webhook ${lane.id} fails`,
    section: webhooks,
    live,
    body: html`${crumbs(trail(lane))}
<h1>Why webhook ${lane.id} fails</h1>
<p><code>${lane.url}</code> of <a href="/console/partners/${lane.branchId}">${lane.partner}</a>,
  ${lane.environment}</p>
${printActs(lane, refusal, operator)}
${live ? livePart(visit, part) : part}`,
  })
}

/** What would be refused is not offered. */
function printActs(lane: LaneHealth, refusal: string | undefined, { forms: on, may }: Operator): Html {
  const operates = may('webhooks.operate')
  const probes = operates && lane.state === 'active' && lane.condition !== 'held' && lane.dueAt !== null
  return html`<div class="acts">
${probes && on.button(forms.probe, 'Probe now', { buttonLook: 'primary' })}
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
  const incident = await readIncident(visit.context, lane, readProbe(visit))
  return html`<p>${conditionBadge(lane)}</p>${printIncident(incident, links)}`
}
