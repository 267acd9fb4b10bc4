/** What became of a test event at each URL, and what to do about one that waits. */
import type { Sql } from '../../../database/database.ts'
import { NotFound } from '../../../problem.ts'
import {
  type BlockingDelivery,
  type EventDelivery,
  findAhead,
  listDeliveriesOfEvent,
} from '../../../webhooks/deliveries/delivery.ts'
import { printEventId } from '../../../webhooks/events/event.ts'
import { findEntry, type NamedEvent, parseEventName } from '../../../webhooks/events/event-search.ts'
import { partOf } from '../../../webhooks/events/part.ts'
import { listWebhooks, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { badge, crumbs, table } from '../../frame/parts.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { stateBadge } from '../../parts/health-words.ts'
import { printAhead } from '../frame/ahead.ts'
import { sendPortal } from '../frame/portal.ts'

export async function showTestOutcome(visit: Visit, member: Member) {
  const { db } = visit.context
  const event = await findTested(visit, member)
  if (!event) throw new NotFound()
  const print = async () => {
    const deliveries = await listDeliveriesOfEvent(db, member.branch, event.uid)
    if (deliveries.length === 0) return printNone(await isExpected(db, member, event), member)
    return printOutcomes(deliveries, await findAhead(db, member.branch, deliveries), member)
  }
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  const again = `${member.home}/test?kind=${event.kind}${event.webhookId === null ? '' : `&webhook=${event.webhookId}`}`
  return sendPortal(visit, member, {
    title: 'Test event',
    section: '/test',
    live: true,
    body: html`${member.isDeveloper && crumbs([{ path: `${member.home}/test?kind=${event.kind}`, label: 'Test events' }])}
<h1>${event.kind} ${event.action}</h1>
<p>Event <code>${printEventId(event.uid)}</code>. Without script, load the page again to see what became of
  it.</p>
${livePart(visit, await print())}
${member.isDeveloper && html`<p><a class="button" href="${again}">Send another</a></p>`}`,
  })
}

/** One that has just been published may have to be given its number. */
async function findTested({ context, request }: Visit, { branch }: Member): Promise<NamedEvent | undefined> {
  const name = parseEventName(paramsOf(request).event ?? '')
  if (name === undefined) return undefined
  const event = await findEntry(context.db, branch, name)
  if (event) return event
  await context.numbering.number(partOf(branch.branchId))
  return findEntry(context.db, branch, name)
}

/** Whether a webhook is there that will be sent it. */
async function isExpected(sql: Sql, { branch }: Member, { webhookId }: NamedEvent): Promise<boolean> {
  const webhooks = await listWebhooks(sql, branch, 0, webhooksPerBranch)
  return webhooks.some(({ id }) => webhookId === null || id === webhookId)
}

function printNone(expected: boolean, { home }: Member): Html {
  if (expected) return html`<p class="card empty">It is on its way.</p>`
  return html`<p class="card empty">The webhook it was for is no longer registered, so nobody was told.
    <a href="${home}/webhooks">See your webhooks</a>.</p>`
}

function printOutcomes(
  deliveries: readonly EventDelivery[],
  ahead: ReadonlyMap<string, BlockingDelivery>,
  member: Member,
): Html {
  const rows = deliveries.map(
    (each) => html`<tr>
<td class="url">${printUrl(each, member)}</td>
<td>${stateBadge(each, ahead.get(each.id))}</td>
<td>${printLast(each)}</td>
</tr>`,
  )
  const waits = deliveries.map((each) => printWait(each, ahead.get(each.id), member))
  return html`${table('Outcomes', ['Webhook', 'State', 'Last attempt'], rows)}${waits}`
}

/** The deliveries of a deleted webhook are no longer shown. */
function printUrl({ id, url, webhookState }: EventDelivery, { home }: Member): Html {
  if (webhookState === 'deleted') return html`${url} <span class="faint">deleted since</span>`
  return html`<a href="${home}/deliveries/${id}">${url}</a>`
}

function printWait(
  { state, webhookId, webhookState, url }: EventDelivery,
  ahead: BlockingDelivery | undefined,
  member: Member,
) {
  if (ahead)
    return html`<p class="notice waiting">${url}: ${printAhead(ahead, member)} A test event with an id of its
      own waits for nothing: send another.</p>`
  if (state !== 'waiting' || (webhookState !== 'paused' && webhookState !== 'disabled')) return undefined
  return html`<p class="notice waiting">${url} is ${webhookState}, so the event waits.
    <a href="${member.home}/webhooks/${webhookId}">Resume it</a>, and it goes out.</p>`
}

function printLast({ lastAttempt }: EventDelivery): Html {
  if (!lastAttempt) return html`<span class="faint">none yet</span>`
  const { outcome, status, why, durationMs } = lastAttempt
  return html`${badge(outcome === 'accepted' ? 'good' : 'bad', outcome)}
    ${status === null ? (why ?? '') : `HTTP ${status}`} <span class="faint">${durationMs} ms</span>`
}
