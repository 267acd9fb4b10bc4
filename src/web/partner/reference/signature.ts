/**
 * The signature debugger: paste what came, and see which secret signed it, which byte differs, and which of
 * the usual mistakes was made. It knows the partner's own secrets alone, prints none of them, keeps nothing
 * of what was pasted, and answers so often in a minute and no oftener.
 */

import { Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import {
  findRecentEvent,
  listCheckableSecrets,
  type RecentEvent,
} from '../../../webhooks/signature-debugger/checkable-secrets.ts'
import {
  checkSignature as check,
  checkedBytesAtMost,
  type NamedSecret,
  type SignatureAnswer,
  type SignatureFinding,
} from '../../../webhooks/signature-debugger/signature-check.ts'
import { type PastedHeaders, readHeaders } from '../../../webhooks/signature-debugger/signature-headers.ts'
import {
  getWebhook,
  listWebhooks,
  type Webhook,
  webhooksPerBranch,
} from '../../../webhooks/subscriptions/webhook.ts'
import type { Submission } from '../../frame/form.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { notice } from '../../frame/page.ts'
import { badge, facts, printMoment } from '../../frame/parts.ts'
import { idOf, type Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'

type CheckForm = Submission<typeof forms.checkSignature>

export function showSignature(visit: Visit, member: Member) {
  return sendForm(visit, member, undefined, undefined)
}

export async function checkSignature(visit: Visit, member: Member, { values }: CheckForm) {
  return sendForm(visit, member, values, await answer(visit, member, values))
}

interface CheckedSignature {
  readonly answer: SignatureAnswer
  readonly headers: PastedHeaders
  readonly secrets: readonly NamedSecret[]
  readonly event: RecentEvent | undefined
}

async function answer(
  { context }: Visit,
  { branch }: Member,
  values: CheckForm['values'],
): Promise<CheckedSignature> {
  const { db, vault, clock, signatureChecks } = context
  // Before anything is read: what is refused costs nothing.
  await signatureChecks.count(branchKey(branch))
  const headers = readHeaders(values.headers)
  const computed = values.computed.trim() === '' ? undefined : values.computed
  if (headers.body === undefined && headers.standard === undefined && computed === undefined)
    throw new Invalid([{ field: 'headers', problem: 'must hold x-webhook-signature or webhook-signature' }])
  const body = readBody(values)
  const webhook = values.webhook === '' ? undefined : await getWebhook(db, branch, idOf(values.webhook))
  const secrets = await listCheckableSecrets(db, vault, branch, webhook, clock.now())
  const event = headers.id === undefined ? undefined : await findRecentEvent(db, branch, headers.id)
  return { answer: check({ headers, body, computed, secrets, sent: event?.body }), headers, secrets, event }
}

/** A form field does not tell which line breaks were pasted: for what depends on them there is base64. */
function readBody({ body, bodyIs }: CheckForm['values']): Buffer {
  const bytes = bodyIs === 'base64' ? Buffer.from(body, 'base64') : Buffer.from(body)
  if (bytes.length > checkedBytesAtMost)
    throw new Invalid([
      { field: 'body', problem: `must have at most ${checkedBytesAtMost.toLocaleString('en')} bytes` },
    ])
  return bytes
}

async function sendForm(
  visit: Visit,
  member: Member,
  standing: CheckForm['values'] | undefined,
  checked: CheckedSignature | undefined,
) {
  const webhooks = await listWebhooks(visit.context.db, member.branch, 0, webhooksPerBranch)
  return sendPortal(visit, member, {
    title: 'Signature debugger',
    section: '/signature',
    body: html`<h1>Signature debugger</h1>
${checked && printAnswer(checked)}
${printForm(webhooks, standing, member)}`,
  })
}

function printForm(
  webhooks: readonly Webhook[],
  standing: CheckForm['values'] | undefined,
  member: Member,
): Html {
  const choices = [
    { value: '', label: 'any of mine' },
    ...webhooks.map(({ id, url }) => ({ value: String(id), label: cut(`${id}: ${url}`, 80) })),
  ]
  return html`<section class="card">
<p>Paste a request that your program refuses. Nothing of it is kept, and no secret is shown.</p>
${member.forms.print(
  forms.checkSignature,
  standing ? { standing } : {},
  (view) => html`${view.field('headers')}
${view.field('body')}
${view.field('bodyIs')}
${view.field('computed')}
${view.field('webhook', { choices })}
${view.button('Check', { look: 'primary' })}`,
)}</section>`
}

function printAnswer({ answer, headers, secrets, event }: CheckedSignature): Html {
  const { findings, difference, isAsSent, isCutShort } = answer
  const isRight = findings.every((finding) => finding.isRight)
  return html`<section class="card${isRight && ' created'}" role="status"
    aria-label="Result"><h2>${summarise(findings)}</h2>
${findings.map(printFinding)}
${printMistakes(findings)}
${difference && printDifference(difference)}
${facts([
  ['Event', printEvent(headers, event)],
  ['Body', isAsSent === true && 'as it was sent, byte for byte'],
  ['Tried', printTried(secrets)],
])}
${isCutShort && html`<p class="small">The body is large: not every mistake was tried.</p>`}</section>`
}

function summarise(findings: readonly SignatureFinding[]): string {
  if (findings.every(({ isRight }) => isRight)) return 'The signature is right'
  const [first] = findings.flatMap(({ mistakes }) => mistakes)
  return `It does not verify: ${first?.name ?? 'unknown'}`
}

const stateWords: Record<NamedSecret['state'], string> = {
  current: 'current',
  next: 'next, does not sign yet',
  previous: 'previous, still verifies',
  ended: 'ended',
}

function describeSecret({
  name,
  state,
  isOverruled,
}: Pick<NamedSecret, 'name' | 'state' | 'isOverruled'>): string {
  const words = isOverruled
    ? 'it does not sign this webhook, which has a secret of its own'
    : stateWords[state]
  return `${name} (${words})`
}

function printFinding({ source, secret, isRight, mistakes }: SignatureFinding): Html {
  const what = source === 'computed' ? 'What your program computed' : source
  const by = secret ? `made with the ${describeSecret(secret)}` : 'made with none of your secrets'
  const names = mistakes.map(({ name }) => name).join(', ')
  return html`<p>${badge(isRight ? 'good' : 'bad', isRight ? 'right' : 'wrong')}
    <strong>${what}</strong>: ${by}${names !== '' && `; ${names}`}</p>`
}

/** Each once, whichever signatures it is found in. */
function printMistakes(findings: readonly SignatureFinding[]): Html | undefined {
  const all = [...new Set(findings.flatMap(({ mistakes }) => mistakes))]
  if (all.length === 0) return undefined
  return html`<h3>What went wrong</h3><ul>${all.map(({ name, words, fix }) => html`<li><strong>${name}</strong>: ${words} ${fix}</li>`)}</ul>`
}

function printDifference(difference: NonNullable<SignatureAnswer['difference']>): Html {
  const { offset, sent, pasted, sentBytes, pastedBytes } = difference
  const byte = (side: typeof sent) => (side.byte === undefined ? 'the end' : `byte 0x${side.byte}`)
  const line = ({ before, from }: typeof sent) => {
    const [, first = '‹end›', rest = ''] = /^(‹[A-Z]+›|.)(.*)$/su.exec(from) ?? []
    return html`${before}<mark>${first}</mark>${rest}`
  }
  return html`<p>The first difference is at byte ${offset.toLocaleString('en')}: ${byte(sent)} was sent,
    ${byte(pasted)} was pasted. ${sentBytes.toLocaleString('en')} bytes were sent,
    ${pastedBytes.toLocaleString('en')} pasted.</p>
<pre tabindex="0" aria-label="What was sent, and what was pasted">sent:   ${line(sent)}
pasted: ${line(pasted)}</pre>`
}

function printEvent({ id }: PastedHeaders, event: RecentEvent | undefined): Content {
  if (id === undefined) return 'unknown: webhook-id was not pasted'
  if (!event) return 'not among your events that are kept'
  return html`${event.kind} ${event.action}, ${printMoment(event.publishedAt)}`
}

function printTried(secrets: readonly NamedSecret[]): Content {
  if (secrets.length === 0) return notice('error', 'There is no secret: no client and no webhook has one.')
  return html`<ul>${secrets.map((secret) => html`<li>${describeSecret(secret)}</li>`)}</ul>`
}
