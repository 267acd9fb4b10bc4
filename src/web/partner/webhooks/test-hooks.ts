/** Spec 4.6 for people: a simulated webhook of each kind, to every registered URL or to one of them. */

import type { Sql } from '../../../database/database.ts'
import { findOverflow, Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import { insertEvents, printEventId } from '../../../webhooks/events/event.ts'
import { isPublishedKind, type Payload, type PublishedKind, payloads } from '../../../webhooks/events/kind.ts'
import { partOf } from '../../../webhooks/events/part.ts'
import { freshId, simulateEvent } from '../../../webhooks/events/simulated-event.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { lengthOf } from '../../frame/field-lengths.ts'
import {
  type Choice,
  choiceField,
  type Draft,
  findProblem,
  formNotice,
  textField,
} from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import { makeOnce, onceField } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'

interface Property {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly description?: string
}

const propertiesOf = (kind: PublishedKind) => payloads[kind].properties as unknown as Record<string, Property>

/** So that a test can be sent without typing. */
const examples = { clearingAccount: '1234', email: 'test@example.com', amount: '500.10' }

const words: Record<PublishedKind, string> = {
  TRANSACTION: 'Transaction',
  APPLICATION: 'Account application',
  ACH_PROFILE: 'ACH profile',
}

export async function showTestHooks(visit: Visit, member: Member) {
  const { kind, webhook } = visit.request.query as { kind?: string; webhook?: string }
  return sendForm(visit, member, isPublishedKind(kind) ? kind : 'TRANSACTION', { values: { webhook } })
}

export async function sendTestHook(visit: Visit, member: Member, form: SubmittedForm) {
  const { context, request } = visit
  const kind = form.find('type')
  if (!isPublishedKind(kind)) throw new Invalid([{ field: 'type', problem: 'is no kind of webhook' }])
  const values = Object.fromEntries(
    Object.keys(propertiesOf(kind)).map((name) => [name, form.find(name)?.trim()]),
  )
  const aim = form.find('webhook') ?? ''
  const payload = parsePayload(kind, values)
  let webhook: Webhook | undefined
  const problem = await findProblem(async () => {
    webhook = findAim(await webhooksOf(visit, member), aim)
    await checkPayload(kind, payload)
  })
  if (problem) return sendForm(visit, member, kind, { values: { ...values, webhook: aim }, problem })
  const event = simulateEvent(member.branch, kind, payload, values.amount, webhook?.id)
  const publish = async (db: Sql) => {
    if (context.testHooks.isOn) await context.testHooks.count(branchKey(member.branch))
    const { traceparent } = request.span ?? {}
    return (await insertEvents(db, [event], context.clock.now(), [traceparent]))[0]!
  }
  const { path } = await makeOnce(
    context,
    member,
    form,
    publish,
    ({ uid }) => `${member.home}/test/${printEventId(uid)}`,
  )
  // It goes out by itself; the member who looks at it next sees it on its way already.
  await context.numbering.number(partOf(member.branch.branchId)).catch(() => {})
  return leadToDone(visit, member, path, {
    text: 'The test event is sent.',
    link: { path: `${member.home}/signature`, label: 'Check its signature' },
  })
}

function webhooksOf({ context }: Visit, { branch }: Member): Promise<Webhook[]> {
  return listWebhooks(context.db, branch, 0, webhooksPerBranch)
}

/** One of the partner's own, or all of them: nothing is sent anywhere else. */
function findAim(webhooks: readonly Webhook[], aim: string): Webhook | undefined {
  const webhook = webhooks.find(({ id }) => String(id) === aim)
  if (aim !== '' && !webhook)
    throw new Invalid([{ field: 'webhook', problem: 'is no longer registered here' }])
  return webhook
}

/**
 * Text as it was typed, numbers where the schema wants them; what is no number stays text and is refused as
 * such.
 */
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

/** The validator is loaded by the first payload that is sent. */
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
  const webhooks = await webhooksOf(visit, member)
  const aim = draft.values.webhook ? `&webhook=${encodeURIComponent(draft.values.webhook)}` : ''
  const tabs = Object.entries(words).map(
    ([each, label]) =>
      html`<a href="${member.home}/test?kind=${each}${aim}"${
        each === kind &&
        html`
        aria-current="page"`
      }>${label}</a>`,
  )
  return sendPortal(visit, member, {
    title: 'Test events',
    section: '/test',
    status: draft.problem?.status ?? 200,
    body: html`<h1>Test events</h1>
<p>A test event is signed and delivered like any other, and says
  <code>x-webhook-test: true</code>. Nothing is checked against real records.
  What each kind and action means is in the <a href="${member.home}/events#${kind}">event catalogue</a>.</p>
${
  webhooks.length === 0
    ? printNobody(member)
    : html`<nav class="tabs"
  aria-label="Kind">${tabs}</nav>${printForm(webhooks, member, kind, draft)}`
}`,
  })
}

function printNobody({ home }: Member): Html {
  return html`<p class="card empty">There is no webhook to send a test event to.
    <a href="${home}/webhooks">Register one</a> first.</p>`
}

function printForm(
  webhooks: readonly Webhook[],
  member: Member,
  kind: PublishedKind,
  { values, problem }: Draft,
): Html {
  const properties = Object.entries(propertiesOf(kind)).filter(([name]) => name !== 'type')
  const usual = { ...examples, ...freshId(kind), branchId: String(member.partner.branchId) }
  const draft = { values: { ...usual, ...values }, problem }
  const hint = 'One that is paused or disabled gets it when you resume it.'
  return html`<section class="card">
${formNotice(draft, 'webhook', ...properties.map(([name]) => name))}
<form method="post" action="${member.home}/test/send">
${csrfField(member.csrf)}${onceField()}<input type="hidden" name="type" value="${kind}">
${choiceField(draft, { name: 'webhook', label: 'Send to', hint }, [everyWebhook, ...webhooks.map(asAim)])}
${properties.map(([name, property]) => printProperty(draft, name, property))}
<button class="primary">Send</button>
</form></section>`
}

const everyWebhook: Choice = { value: '', label: 'Every webhook' }

function asAim({ id, url, state }: Webhook): Choice {
  return { value: String(id), label: `${cut(`${id}: ${url}`, 80)}${state === 'active' ? '' : ` (${state})`}` }
}

function printProperty(draft: Draft, name: string, property: Property): Html {
  const field = { name, label: name, hint: property.description }
  if (property.enum) return choiceField(draft, field, property.enum.map(asChoice))
  const isNumber = property.type === 'integer' || property.type === 'number'
  return textField(draft, {
    ...field,
    more: html`maxlength="${lengthOf('/partner/:branch/test/send', name)}"${
      isNumber &&
      html`
      inputmode="decimal" required`
    }`,
  })
}

function asChoice(value: string): Choice {
  return { value, label: value }
}
