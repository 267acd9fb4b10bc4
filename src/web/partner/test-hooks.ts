/** Spec 4.6 for people: a simulated webhook of each kind to every registered URL, and what comes of it. */
import type { Database, Sql } from '../../database/database.ts'
import { findOverflow, Invalid, NotFound } from '../../problem.ts'
import { type EventDelivery, findEvent, listDeliveriesOfEvent } from '../../webhooks/delivery.ts'
import { branchKey } from '../../webhooks/dispatch.ts'
import { insertEvents, printEventId } from '../../webhooks/event.ts'
import { isPublishedKind, type Payload, type PublishedKind, payloads } from '../../webhooks/kind.ts'
import { simulateEvent } from '../../webhooks/simulated-event.ts'
import { listWebhooks } from '../../webhooks/webhook.ts'
import {
  type Choice,
  choiceField,
  type Draft,
  emptyDraft,
  findProblem,
  formNotice,
  textField,
} from '../frame/fields.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { stateBadge } from '../frame/health-words.ts'
import { type Html, html } from '../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../frame/live.ts'
import { csrfField } from '../frame/page.ts'
import { badge, crumbs, table } from '../frame/parts.ts'
import { makeOnce, onceField } from '../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../frame/visit.ts'
import { type Member, memberWatcher } from '../gates.ts'
import { sendPortal } from './portal.ts'

interface Property {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly description?: string
}

const propertiesOf = (kind: PublishedKind) => payloads[kind].properties as unknown as Record<string, Property>

/** So that a test can be sent without typing. */
const examples = {
  transactionId: '42',
  applicationId: '42',
  profileId: '42',
  clearingAccount: '1234',
  email: 'test@example.com',
  amount: '500.10',
}

const words: Record<PublishedKind, string> = {
  TRANSACTION: 'Transaction',
  APPLICATION: 'Account application',
  ACH_PROFILE: 'ACH profile',
}

export async function showTestHooks(visit: Visit, member: Member) {
  const asked = (visit.request.query as { kind?: string }).kind
  return sendForm(visit, member, isPublishedKind(asked) ? asked : 'TRANSACTION', emptyDraft)
}

export async function sendTestHook(visit: Visit, member: Member, form: SubmittedForm) {
  const { context, request, reply } = visit
  const kind = form.find('type')
  if (!isPublishedKind(kind)) throw new Invalid([{ field: 'type', problem: 'is no kind of webhook' }])
  const values = Object.fromEntries(Object.keys(propertiesOf(kind)).map((name) => [name, form.find(name)?.trim()]))
  const payload = parsePayload(kind, values)
  const problem = await findProblem(() => checkPayload(kind, payload))
  if (problem) return sendForm(visit, member, kind, { values, problem })
  const now = context.clock.now()
  const event = simulateEvent(member.branch, kind, payload, values.amount)
  const { traceparent } = request.span ?? {}
  const publish = async (db: Database) => {
    if (context.testHooks.isOn) await context.testHooks.count(branchKey(member.branch))
    return (await insertEvents(db, [event], now, traceparent === undefined ? undefined : [traceparent]))[0]!
  }
  const { path } = await makeOnce(context, member, form, publish, ({ id }) => `${member.home}/test/${id}`)
  return reply.redirect(path, 303)
}

/** Text as it was typed, numbers where the schema wants them; what is no number stays text and is refused as such. */
function parsePayload(kind: PublishedKind, values: Readonly<Record<string, string | undefined>>): Payload {
  const parse = (text: string, { type }: Property) => {
    if (text === '' && Array.isArray(type)) return null
    const isNumber = (type === 'integer' || type === 'number') && /^(0|[1-9]\d*)(\.\d+)?$/.test(text)
    return isNumber ? Number(text) : text
  }
  return Object.fromEntries(
    Object.entries(propertiesOf(kind)).map(([name, property]) => [name, parse(values[name] ?? '', property)]),
  )
}

/** What judges is loaded by whoever sends the first. */
async function checkPayload(kind: PublishedKind, payload: Payload): Promise<void> {
  const { Value } = await import('typebox/value')
  const faults = [...Value.Errors(payloads[kind], payload)]
  if (faults.length === 0) return
  throw new Invalid(
    faults.map(({ instancePath, message }) => {
      const field = instancePath.slice(1)
      return { field, problem: findOverflow(payload[field]) ?? message }
    }),
  )
}

async function sendForm(visit: Visit, member: Member, kind: PublishedKind, draft: Draft) {
  const properties = Object.entries(propertiesOf(kind)).filter(([name]) => name !== 'type')
  const values = { ...examples, branchId: String(member.partner.branchId), ...draft.values }
  const tabs = Object.entries(words).map(
    ([each, label]) =>
      html`<a href="${member.home}/test?kind=${each}"${each === kind && html` aria-current="page"`}>${label}</a>`,
  )
  return sendPortal(visit, member, {
    title: 'Test hooks',
    section: '/test',
    status: draft.problem?.status ?? 200,
    body: html`<h1>Test hooks</h1>
<p>A simulated webhook goes to every URL that is registered here, signed and delivered like any other. Nothing is checked against real records.</p>
<nav class="tabs" aria-label="Kind">${tabs}</nav>
<section class="card">
${formNotice(draft, ...properties.map(([name]) => name))}
<form method="post" action="${member.home}/test/send">
${csrfField(member.csrf)}${onceField()}<input type="hidden" name="type" value="${kind}">
${properties.map(([name, property]) => printProperty({ values, problem: draft.problem }, name, property))}
<button class="primary">Send</button>
</form></section>`,
  })
}

function printProperty(draft: Draft, name: string, property: Property): Html {
  const field = { name, label: name, hint: property.description }
  if (property.enum) return choiceField(draft, field, property.enum.map(asChoice))
  const isNumber = property.type === 'integer' || property.type === 'number'
  return textField(draft, { ...field, more: isNumber ? html`inputmode="decimal" required` : html`maxlength="320"` })
}

function asChoice(value: string): Choice {
  return { value, label: value }
}

export async function showTestOutcome(visit: Visit, member: Member) {
  const { db } = visit.context
  const id = idOf(paramsOf(visit.request).event)
  const event = await findEvent(db, member.branch, id)
  if (!event) throw new NotFound()
  const print = async () => printOutcome(await listDeliveriesOfEvent(db, id), await hasWebhooks(db, member), member)
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  return sendPortal(visit, member, {
    title: 'Test hook',
    section: '/test',
    live: true,
    body: html`${crumbs([{ path: `${member.home}/test?kind=${event.kind}`, label: 'Test hooks' }])}
<h1>${event.kind} ${event.action}</h1>
<p>Event <code>${printEventId(event.uid)}</code>. Without script, load the page again to see what became of it.</p>
${livePart(visit.request, await print())}`,
  })
}

async function hasWebhooks(sql: Sql, { branch }: Member): Promise<boolean> {
  return (await listWebhooks(sql, branch, 0, 1)).length > 0
}

function printOutcome(deliveries: readonly EventDelivery[], isExpected: boolean, { home }: Member): Html {
  if (deliveries.length === 0 && isExpected) return html`<p class="card empty">It is on its way.</p>`
  if (deliveries.length === 0)
    return html`<p class="card empty">No webhook is registered here, so nobody was told. <a href="${home}/webhooks">Register one</a>.</p>`
  const rows = deliveries.map(
    (each) => html`<tr>
<td class="url"><a href="${home}/deliveries/${each.id}">${each.url}</a></td>
<td>${stateBadge(each)}</td>
<td>${printLast(each)}</td>
</tr>`,
  )
  return table('Outcomes', ['Webhook', 'State', 'Last attempt'], rows)
}

function printLast({ lastAttempt }: EventDelivery): Html {
  if (!lastAttempt) return html`<span class="faint">none yet</span>`
  const { outcome, status, why, durationMs } = lastAttempt
  return html`${badge(outcome === 'accepted' ? 'good' : 'bad', outcome)} ${status === null ? (why ?? '') : `HTTP ${status}`} <span class="faint">${durationMs} ms</span>`
}
