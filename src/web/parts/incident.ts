/**
 * Why a webhook fails, on one page: the likely cause and how to fix it, what was answered, what is queued,
 * and what became of a probe and a recovery.
 */
import type { Sql } from '../../database/database.ts'
import { findProbeOutcome, type Probe, type ProbeOutcome } from '../../webhooks/deliveries/probe.ts'
import { listReplays, type Replay } from '../../webhooks/deliveries/replay.ts'
import { parseDeliveryId } from '../../webhooks/engine/delivery-id.ts'
import { type Backlog, lookedAtMost, readBacklog } from '../../webhooks/health/backlog.ts'
import { isFailing, isWell } from '../../webhooks/health/condition.ts'
import { type FailedAttempt, readFailures, type WebhookFailure } from '../../webhooks/health/failure.ts'
import type { LaneHealth } from '../../webhooks/health/lane-health.ts'
import { findCause } from '../../webhooks/health/likely-cause.ts'
import { countedAtMost, readWaiting } from '../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../webhooks/subscriptions/webhook.ts'
import { type Content, type Html, html } from '../frame/html.ts'
import { notice, printDate } from '../frame/page.ts'
import { badge, facts, printMoment, table } from '../frame/parts.ts'
import type { Visit } from '../frame/visit.ts'
import { nameAnswer, printAnswer } from './failure-words.ts'
import { describeCondition, printCount } from './health-words.ts'

const entitiesShown = 20

interface Incident {
  readonly lane: LaneHealth
  readonly exhausted: number
  /** Undefined when nothing failed, or no attempt has noted how. */
  readonly failure: WebhookFailure | undefined
  readonly backlog: Backlog
  readonly probe: { readonly asked: Probe; readonly outcome: ProbeOutcome | undefined } | undefined
  /** The last one. */
  readonly recovery: Replay | undefined
}

export async function readIncident(
  { db }: { readonly db: Sql },
  lane: LaneHealth,
  asked: Probe | undefined,
): Promise<Incident> {
  return {
    lane,
    exhausted: (await readWaiting(db, [lane])).get(lane.id)?.exhausted ?? 0,
    failure: isWell(lane.condition) ? undefined : (await readFailures(db, [lane])).get(lane.id),
    backlog: await readBacklog(db, lane, entitiesShown),
    probe: asked && { asked, outcome: await findProbeOutcome(db, lane, asked) },
    recovery: await findRecovery(db, lane),
  }
}

async function findRecovery(sql: Sql, webhook: Webhook): Promise<Replay | undefined> {
  return (await listReplays(sql, webhook)).find(({ selection }) => selection.since !== undefined)
}

/** Which probe the address asks about. */
export function readProbe({ query: { probed, after } }: Visit): Probe | undefined {
  if (typeof probed !== 'string' || !parseDeliveryId(probed)) return undefined
  const attemptsBefore = typeof after === 'string' && /^\d{1,4}$/.test(after) ? Number(after) : 0
  return { deliveryId: probed, attemptsBefore }
}

/** The address that asks about a probe. */
export function addressOfProbe(page: string, { deliveryId, attemptsBefore }: Probe): string {
  return `${page}?probed=${deliveryId}&after=${attemptsBefore}`
}

/** Where things are, for one reader; what leads nowhere is shown as a word. */
export interface IncidentLinks {
  delivery(id: string): Content
  entity(name: string): Content
  readonly recovery: ((id: number) => string) | undefined
  /** The signature debugger. */
  readonly signature: string | undefined
}

export function printIncident(incident: Incident, links: IncidentLinks): Html {
  const { failure, probe, recovery } = incident
  return html`${probe && printProbe(probe.outcome, links)}
${recovery && printRecovery(recovery, links)}
${failure?.last ? printCause(failure.last, links) : printNothing(incident)}
${
  failure?.last &&
  html`<section class="card"><h2>Last answer</h2>${printAnswer(failure.last)}<p>Delivery
  ${links.delivery(failure.last.deliveryId)}</p></section>`
}
${printCourse(incident, links)}
${printBacklog(incident, links)}`
}

function printNothing({ lane }: Incident): Html {
  const words = isFailing(lane.condition)
    ? 'No failure details yet. The next attempt will show them.'
    : describeCondition(lane)
  return html`<p class="card empty">${words}</p>`
}

function printCause(last: FailedAttempt, { signature }: IncidentLinks): Html {
  const { name, title, fix } = findCause(last)
  return html`<section class="card"><h2>Likely cause: ${name}</h2>
<p><strong>${title}</strong></p>
<p>How to fix it: ${fix}</p>
${
  name === 'signature refused' &&
  signature !== undefined &&
  html`<p><a class="button"
  href="${signature}">Open the signature debugger</a></p>`
}</section>`
}

function printCourse({ lane, exhausted, failure }: Incident, { delivery }: IncidentLinks): Html | undefined {
  if (!isFailing(lane.condition)) return undefined
  const first = failure?.first
  return html`<section class="card"><h2>Since when</h2>
${facts([
  ['Failing since', lane.failingSince ? printDate(lane.failingSince) : undefined],
  ['Failures in a row', lane.failures > 0 && lane.failures.toLocaleString('en')],
  [
    'First failure',
    first && html`${nameAnswer(first)}, ${printMoment(first.at)}, delivery ${delivery(first.deliveryId)}`,
  ],
  ['Disabled', lane.disabledReason !== null && lane.disabledReason],
  ['Failed after all retries', printCount(exhausted)],
])}</section>`
}

function printBacklog({ backlog }: Incident, { entity, delivery }: IncidentLinks): Html {
  const { looked, entities, blocked, held } = backlog
  if (looked === 0)
    return html`<section class="card"><h2>Queued</h2><p class="empty">Nothing is queued.
      Nobody’s order is held up.</p></section>`
  const rows = held.map(
    (each) => html`<tr>
<td class="url"><code>${entity(each.entity)}</code></td>
<td class="number">${each.waiting.toLocaleString('en')}</td>
<td class="number">${each.behind.toLocaleString('en')}</td>
<td>${delivery(each.deliveryId)}</td>
<td class="number">${each.attempts}</td>
<td>${printMoment(each.since)}</td>
</tr>`,
  )
  const many = (number: number, one: string, more: string) =>
    `${number.toLocaleString('en')} ${number === 1 ? one : more}`
  return html`<section class="card"><h2>Queued</h2>
<p><strong>${printCount(looked)}</strong> ${looked === 1 ? 'delivery is' : 'deliveries are'} queued,
  of ${many(entities, 'entity', 'entities')}.
  ${blocked > 0 && `${many(blocked, 'is', 'are')} queued behind an earlier one of the same entity, whose order is kept.`}
${looked >= lookedAtMost && `The ${lookedAtMost.toLocaleString('en')} oldest were looked at.`}</p></section>
${table('Entities that are held up', ['Entity', 'Queued', 'Behind the first', 'First delivery', 'Attempts', 'Since (UTC)'], rows)}
${entities > held.length && html`<p class="small">The ${held.length} with most behind them are shown.</p>`}`
}

function printProbe(outcome: ProbeOutcome | undefined, { delivery }: IncidentLinks): Html {
  if (!outcome)
    return html`<p class="notice" role="status">The probe is under way. Without script,
      load the page again to see its outcome.</p>`
  const what = html`delivery ${delivery(outcome.deliveryId)}, attempt ${outcome.number},
    ${printMoment(outcome.at)}, ${outcome.durationMs.toLocaleString('en')} ms`
  if (outcome.outcome === 'accepted')
    return notice(
      'success',
      html`The probe was accepted: HTTP ${outcome.status ?? ''} (${what}). What is due goes out now.
        Recover sends the rest.`,
    )
  return notice('error', html`The probe failed: ${nameAnswer(outcome)} (${what}).`)
}

const recoveryWords = { running: 'wait', finished: 'good', canceled: 'off' } as const

function printRecovery(
  { id, state, done, total, pulled, createdAt }: Replay,
  { recovery }: IncidentLinks,
): Html {
  const name = `Recovery ${id}`
  return html`<section class="card"><h2>Recovery</h2>
<p>${badge(recoveryWords[state], state)} ${recovery ? html`<a href="${recovery(id)}">${name}</a>` : name},
  started ${printMoment(createdAt)}: ${pulled.toLocaleString('en')} that waited are tried now,
  ${done.toLocaleString('en')} of ${printCount(total ?? countedAtMost)} that had failed are sent again.</p>
${
  total !== null &&
  total > 0 &&
  html`<progress value="${done}" max="${total}"
  aria-label="Sent again"></progress>`
}</section>`
}
