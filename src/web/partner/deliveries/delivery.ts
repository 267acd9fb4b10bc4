/** One delivery: what was sent, what came back each time, and why the signature is what it is. */

import type { Sql } from '../../../database/database.ts'
import {
  type Attempt,
  type BlockingDelivery,
  type Delivery,
  type DeliveryWithBody,
  findAhead,
  getDelivery,
  listAttempts,
  redeliver as sendAgain,
} from '../../../webhooks/deliveries/delivery.ts'
import { findNextAttempt, type NextAttempt } from '../../../webhooks/deliveries/next-attempt.ts'
import { skipDelivery } from '../../../webhooks/deliveries/skip.ts'
import { printEventId } from '../../../webhooks/events/event.ts'
import { getLane } from '../../../webhooks/health/lane-health.ts'
import { printHead } from '../../../webhooks/outbound/request-head.ts'
import { printSignatures, type SigningSecrets } from '../../../webhooks/outbound/signature.ts'
import { getWebhook, type Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { listHeaderNames } from '../../../webhooks/subscriptions/webhook-headers.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { badge, crumbs, facts, printMoment, type Tone } from '../../frame/parts.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { describeNext } from '../../parts/attempt-words.ts'
import { describeState, stateBadge } from '../../parts/health-words.ts'
import { printAhead } from '../frame/ahead.ts'
import { sendPortal } from '../frame/portal.ts'
import { printSteps } from '../reference/signature-steps.ts'
import * as forms from './forms.ts'
import { describeCanceler, type EntityNames, getNames, reasonOf } from './skips.ts'

export async function redeliver(visit: Visit, member: Member, form: Submission<typeof forms.redeliver>) {
  const { context } = visit
  const delivery = await deliveryOf(visit, member)
  const { branchId } = member.branch
  const make = (db: Sql) => sendAgain(db, branchId, delivery, member.act)
  const pathOf = (id: string) => `${member.home}/deliveries/${id}`
  const { path } = await makeOnce(context, member, form, make, pathOf)
  return leadToDone(visit, member, path, {
    text:
      path === pathOf(delivery.id) ? 'It is tried now.' : `This delivery replays delivery ${delivery.id}.`,
    link: {
      path: `${member.home}/deliveries?webhook=${delivery.webhookId}`,
      label: 'All deliveries of the webhook',
    },
  })
}

/** A second click finds it skipped already, and that is what was wanted. */
export async function skip(visit: Visit, member: Member, { values }: Submission<typeof forms.skip>) {
  const { db } = visit.context
  const delivery = await deliveryOf(visit, member)
  const { branchId } = member.branch
  await skipDelivery(db, branchId, delivery, reasonOf(values), member.act)
  const entity = `${member.home}/deliveries?${new URLSearchParams({ entity: delivery.entity })}`
  return leadToDone(visit, member, `${member.home}/deliveries/${delivery.id}`, {
    text: 'It is skipped.',
    link: { path: entity, label: `Deliveries of ${delivery.entity}` },
  })
}

function printSkipForm(member: Member): Html {
  return html`<section class="card"><h2>Skip</h2>
${member.forms.ask(forms.skip, {
  label: 'Skip it',
  text: 'It is not sent any more, and what is queued behind it for the same entity goes out. It can still be replayed later.',
})}</section>`
}

/**
 * One that waits behind another goes when that has gone, and at a webhook that is switched off nothing does.
 */
function printSendForm({ state }: Delivery, webhook: Webhook, member: Member): Html | undefined {
  const isOff = webhook.state !== 'active'
  const resume = html`<p class="notice waiting">The webhook is ${webhook.state}: nothing is sent until you
    <a href="${member.home}/webhooks/${webhook.id}">resume it</a>.</p>`
  if (state === 'blocked' || (state === 'waiting' && isOff)) return isOff ? resume : undefined
  const label = state === 'waiting' ? 'Try it now' : 'Replay it'
  return html`${isOff && resume}${member.forms.button(forms.redeliver, label, { buttonLook: 'primary' })}`
}

export async function showDelivery(visit: Visit, member: Member) {
  const print = () => printDelivery(visit, member)
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  const { id } = paramsOf(visit.request)
  const part = await print()
  const delivery = await deliveryOf(visit, member)
  return sendPortal(visit, member, {
    title: `Delivery ${id}`,
    section: '/deliveries',
    live: true,
    body: html`${crumbs([{ path: `${member.home}/deliveries`, label: 'Deliveries' }])}
<h1>Delivery ${id}</h1>
${livePart(visit, part)}
${delivery.settledAt === null && member.isDeveloper && printSkipForm(member)}`,
  })
}

function deliveryOf({ context, request }: Visit, { branch }: Member) {
  return getDelivery(context.db, branch, paramsOf(request).id ?? '')
}

/** The button is of the state that is shown. */
async function printDelivery(visit: Visit, member: Member): Promise<Html> {
  const { db, signingSecrets, clock } = visit.context
  const delivery = await deliveryOf(visit, member)
  const webhook = await getWebhook(db, member.branch, delivery.webhookId)
  const now = clock.now()
  const next = findNextAttempt(delivery, (await getLane(db, webhook.id, now)).condition, now)
  const attempts = await listAttempts(db, member.branch, delivery)
  const secrets = await signingSecrets.find(webhook.id, attempts.at(-1)?.at ?? clock.now())
  const chosen = (await listHeaderNames(db, [webhook])).get(webhook.id)!
  const hidden = Object.fromEntries(chosen.map((name) => [name, '••••••••']))
  const names = await getNames(db, delivery.canceledBy)
  const ahead = (await findAhead(db, member.branch, [delivery])).get(delivery.id)
  return html`${printFacts({ delivery, webhook, names, ahead, next, now }, member)}
<h2>Attempts</h2>
${
  attempts.length === 0
    ? html`<p class="card empty">None has been made yet.</p>`
    : html`<ol
  class="attempts">${attempts.toReversed().map(printAttempt)}</ol>`
}
${printRequest(delivery, webhook, attempts.at(-1), secrets, hidden)}
${member.isDeveloper && printSendForm(delivery, webhook, member)}`
}

interface ShownDelivery {
  readonly delivery: Delivery
  readonly webhook: Webhook
  readonly names: EntityNames
  readonly ahead: BlockingDelivery | undefined
  readonly next: NextAttempt | undefined
  readonly now: Date
}

function printFacts({ delivery, webhook, names, ahead, next, now }: ShownDelivery, member: Member): Html {
  const { home } = member
  const { kind, action, entity, uid, createdAt, settledAt, repeats, reason, canceledBy } = delivery
  return html`<section class="card"><p>${stateBadge(delivery, ahead)}
    ${ahead ? printAhead(ahead, member) : describeState(delivery)}</p>
${facts([
  ['Event', html`${kind} ${action} <code>${printEventId(uid)}</code>`],
  [
    'Entity',
    html`<a href="${home}/deliveries?entity=${encodeURIComponent(entity)}"><code>${entity}</code></a>`,
  ],
  ['Webhook', html`<a href="${home}/webhooks/${webhook.id}">${webhook.url}</a>`],
  ['Repeats', repeats !== null && html`<a href="${home}/deliveries/${repeats}">delivery ${repeats}</a>`],
  ['Created', printMoment(createdAt)],
  ['Next attempt', next && describeNext(next, now)],
  ['Reason', reason !== null && reason],
  ['Skipped by', canceledBy !== null && describeCanceler(canceledBy, names)],
  ['Settled', settledAt ? printMoment(settledAt) : undefined],
])}</section>`
}

const outcomeTones: Record<Attempt['outcome'], Tone> = {
  accepted: 'good',
  refused: 'bad',
  unreachable: 'bad',
}

/** In the words of the developer who has to fix it. */
const whyWords = new Map([
  ['timeout', 'No complete answer came within ten seconds.'],
  ['dns', 'The host name could not be found.'],
  ['tls', 'The certificate or the TLS connection was not accepted.'],
  ['connection', 'No connection could be made, or it broke.'],
  ['protocol', 'The answer was not HTTP.'],
  ['forbidden-address', 'The host name leads to an address that webhooks may not reach.'],
  [
    'no-secret',
    'There is no secret left to sign with: the client has none, and the webhook has none of its own.',
  ],
])

function printAttempt({ number, at, durationMs, outcome, status, why, detail, response }: Attempt): Html {
  const answered = status === null ? undefined : `HTTP ${status}`
  return html`<li class="card"><p>${badge(outcomeTones[outcome], outcome)}
    <strong>${answered ?? why ?? ''}</strong> <span class="faint">attempt ${number}, ${printMoment(at)},
    ${durationMs} ms</span></p>
${why !== null && html`<p>${whyWords.get(why) ?? why}</p>`}
${
  detail !== null &&
  html`<pre tabindex="0"
  aria-label="${why === null ? 'Headers of the answer' : 'The error'}">${detail}</pre>`
}
${
  response !== null &&
  response !== '' &&
  html`<details><summary>Response (${response.length} characters
  kept)</summary><pre tabindex="0">${response}</pre></details>`
}</li>`
}

function printRequest(
  { uid, body, simulated }: DeliveryWithBody,
  { url }: Webhook,
  last: Attempt | undefined,
  secrets: SigningSecrets | undefined,
  hidden: Readonly<Record<string, string>>,
): Html {
  const at = last?.at
  if (!at || !secrets)
    return html`<h2>Body</h2><section class="card"><pre tabindex="0">${body}</pre></section>`
  const message = { id: printEventId(uid), body, sentAt: at, attempt: last.number, simulated }
  const head = printHead(message, printSignatures(message, secrets), hidden)
  const lines = [`POST ${url}`, ...Object.entries(head).map(([name, value]) => `${name}: ${value}`)]
  return html`<h2>Request of attempt ${last.number}</h2>
<section class="card"><pre tabindex="0">${lines.join('\n')}

${body}</pre></section>
<h2>How it is signed</h2>
<section class="card"><p class="small">Computed with the secret that is known now;
  one that was replaced and has ended signed
  differently.</p>${printSteps({ uid, body, at }, secrets)}</section>`
}
