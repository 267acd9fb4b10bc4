/** What became of a test event at each URL, and what to do about one that waits. */
import type { Sql } from '../../database/database.ts'
import { NotFound } from '../../problem.ts'
import {
  type Ahead,
  type EventDelivery,
  type FoundEvent,
  findAhead,
  findEvent,
  listDeliveriesOfEvent,
} from '../../webhooks/delivery.ts'
import { printEventId } from '../../webhooks/event.ts'
import { listWebhooks, webhooksPerBranch } from '../../webhooks/webhook.ts'
import { stateBadge } from '../frame/health-words.ts'
import { type Html, html } from '../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../frame/live.ts'
import { badge, crumbs, table } from '../frame/parts.ts'
import { idOf, paramsOf, type Visit } from '../frame/visit.ts'
import { type Member, memberWatcher } from '../gates.ts'
import { printAhead } from './ahead.ts'
import { sendPortal } from './portal.ts'

export async function showTestOutcome(visit: Visit, member: Member) {
  const { db } = visit.context
  const id = idOf(paramsOf(visit.request).event)
  const event = await findEvent(db, member.branch, id)
  if (!event) throw new NotFound()
  const print = async () => {
    const deliveries = await listDeliveriesOfEvent(db, id)
    if (deliveries.length === 0) return printNone(await isExpected(db, member, event), member)
    return printOutcomes(deliveries, await findAhead(db, deliveries), member)
  }
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  const again = `${member.home}/test?kind=${event.kind}${event.webhook_id === null ? '' : `&webhook=${event.webhook_id}`}`
  return sendPortal(visit, member, {
    title: 'Test hook',
    section: '/test',
    live: true,
    body: html`${crumbs([{ path: `${member.home}/test?kind=${event.kind}`, label: 'Test hooks' }])}
<h1>${event.kind} ${event.action}</h1>
<p>Event <code>${printEventId(event.uid)}</code>. Without script, load the page again to see what became of it.</p>
${livePart(visit.request, await print())}
<p><a class="button" href="${again}">Send another</a></p>`,
  })
}

/** Whether somebody is there who will be told. */
async function isExpected(sql: Sql, { branch }: Member, { webhook_id }: FoundEvent): Promise<boolean> {
  const webhooks = await listWebhooks(sql, branch, 0, webhooksPerBranch)
  return webhooks.some(({ id }) => webhook_id === null || id === webhook_id)
}

function printNone(expected: boolean, { home }: Member): Html {
  if (expected) return html`<p class="card empty">It is on its way.</p>`
  return html`<p class="card empty">The webhook it was for is no longer registered, so nobody was told. <a href="${home}/webhooks">See your webhooks</a>.</p>`
}

function printOutcomes(deliveries: readonly EventDelivery[], ahead: ReadonlyMap<number, Ahead>, member: Member): Html {
  const rows = deliveries.map(
    (each) => html`<tr>
<td class="url">${printUrl(each, member)}</td>
<td>${stateBadge(each)}</td>
<td>${printLast(each)}</td>
</tr>`,
  )
  const waits = deliveries.map((each) => printWait(each, ahead.get(each.id), member))
  return html`${table('Outcomes', ['Webhook', 'State', 'Last attempt'], rows)}${waits}`
}

/** The deliveries of a deleted webhook are no longer shown. */
function printUrl({ id, url, webhook_state }: EventDelivery, { home }: Member): Html {
  if (webhook_state === 'deleted') return html`${url} <span class="faint">deleted since</span>`
  return html`<a href="${home}/deliveries/${id}">${url}</a>`
}

function printWait({ state, webhook_id, webhook_state, url }: EventDelivery, ahead: Ahead | undefined, member: Member) {
  if (ahead)
    return html`<p class="notice">${url}: ${printAhead(ahead, member)} A test event with an id of its own waits for nothing: send another.</p>`
  if (state !== 'waiting' || (webhook_state !== 'paused' && webhook_state !== 'disabled')) return undefined
  return html`<p class="notice">${url} is ${webhook_state}, so the event waits. <a href="${member.home}/webhooks/${webhook_id}">Resume it</a>, and it goes out.</p>`
}

function printLast({ last_attempt }: EventDelivery): Html {
  if (!last_attempt) return html`<span class="faint">none yet</span>`
  const { outcome, status, why, duration_ms } = last_attempt
  return html`${badge(outcome === 'accepted' ? 'good' : 'bad', outcome)} ${status === null ? (why ?? '') : `HTTP ${status}`} <span class="faint">${duration_ms} ms</span>`
}
