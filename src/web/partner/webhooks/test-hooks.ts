/** Spec 4.6 for people: a simulated webhook of each kind, to every registered URL or to one of them. */

import type { Sql } from '../../../database/database.ts'
import { findOverflow, Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import { insertEvents, printEventId } from '../../../webhooks/events/event.ts'
import { isPublishedKind, type Payload, type PublishedKind, payloads } from '../../../webhooks/events/kind.ts'
import { freshId, simulateEvent } from '../../../webhooks/events/simulated-event.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { type Choice, choice } from '../../frame/field.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'

/** So that a test can be sent without typing. */
const examples = { clearingAccount: '1234', email: 'test@example.com', amount: '500.10' }

const words: Record<PublishedKind, string> = {
  TRANSACTION: 'Transaction',
  APPLICATION: 'Account application',
  ACH_PROFILE: 'ACH profile',
}

export async function sendTestHook(
  visit: Visit,
  member: Member,
  form: Submission<typeof forms.sendTestHook>,
) {
  const { context, request } = visit
  const { type: kind, webhook: aim } = form.values
  const typed: Readonly<Record<string, string>> = form.values
  if (!isPublishedKind(kind)) throw new Invalid([{ field: 'type', problem: 'is no kind of webhook' }])
  const webhook = findAim(await webhooksOf(visit, member), aim)
  const payload = await parsePayload(kind, typed)
  const event = simulateEvent(member.branch, kind, payload, typed.amount?.trim(), webhook?.id)
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
async function parsePayload(kind: PublishedKind, typed: Readonly<Record<string, string>>): Promise<Payload> {
  const parse = (text: string, { type }: forms.Property) => {
    if (text === '' && Array.isArray(type)) return null
    const isNumber = (type === 'integer' || type === 'number') && /^(0|[1-9]\d*)(\.\d+)?$/.test(text)
    return isNumber ? Number(text) : text
  }
  const parsed = forms
    .propertiesOf(kind)
    .map(([name, property]): [string, unknown] => [name, parse(typed[name]?.trim() ?? '', property)])
  const payload = { ...Object.fromEntries(parsed), type: kind }
  await checkPayload(kind, payload)
  return payload
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

const asked = { kind: choice({ label: 'Kind' }), webhook: choice({ label: 'Webhook' }) }

export async function showTestHooks(visit: Visit, member: Member) {
  const { values } = readQuestion(visit.query, asked)
  const kind = isPublishedKind(values.kind) ? values.kind : 'TRANSACTION'
  const webhook = member.forms.typedInto(forms.sendTestHook, 'webhook') ?? values.webhook
  const webhooks = await webhooksOf(visit, member)
  const aim = webhook ? `&webhook=${encodeURIComponent(webhook)}` : ''
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
    body: html`<h1>Test events</h1>
<p>A test event is signed and delivered like any other, and says
  <code>x-webhook-test: true</code>. Nothing is checked against real records.
  What each kind and action means is in the <a href="${member.home}/events#${kind}">event catalogue</a>.</p>
${
  webhooks.length === 0
    ? printNobody(member)
    : html`<nav class="tabs"
  aria-label="Kind">${tabs}</nav>${printForm(webhooks, member, kind, webhook)}`
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
  webhook: string | undefined,
): Html {
  const usual = { ...examples, ...freshId(kind), branchId: member.partner.branchId }
  return html`<section class="card">
${member.forms.print(
  forms.sendTestHook,
  { standing: { ...usual, type: kind, webhook } },
  (view) => html`${view.field('webhook', { choices: [everyWebhook, ...webhooks.map(asAim)] })}
${forms.propertiesOf(kind).map(([name, property]) => printProperty(view, name, property))}
${view.button('Send', { look: 'primary' })}`,
)}</section>`
}

const everyWebhook: Choice = { value: '', label: 'Every webhook' }

function asAim({ id, url, state }: Webhook): Choice {
  return { value: String(id), label: `${cut(`${id}: ${url}`, 80)}${state === 'active' ? '' : ` (${state})`}` }
}

function printProperty(view: Pick<FormView, 'field'>, name: string, property: forms.Property): Html {
  const { description: hint, type } = property
  if (property.enum) return view.field(name, { hint, choices: property.enum.map(asChoice) })
  const isNumber = type === 'integer' || type === 'number'
  return view.field(name, { hint, isRequired: isNumber, more: isNumber && html`inputmode="decimal"` })
}

function asChoice(value: string): Choice {
  return { value, label: value }
}
