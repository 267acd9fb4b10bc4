/** The way to the first verified webhook, as a list that ticks itself from what happened. */
import type { Context } from '../../../context.ts'
import { findVerifiedAt } from '../../../webhooks/subscriptions/built-in-receiver.ts'
import { type Html, html } from '../../frame/html.ts'
import { inSandbox, onLiveSite } from '../../frame/other-site.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { AnyMember, Member } from '../../gates/gates.ts'
import type { Progress } from '../frame/progress.ts'
import { firstTry, printTryForm } from '../webhooks/receiver.ts'

interface Step {
  readonly title: string
  readonly isDone: boolean
  /** How to do it; or, done, what happened. */
  readonly words: Html | string
}

/** Made once for a visit: a form that is printed anew with each look would be a change each time. */
export function openTryForm({ context }: Visit, member: Member): Html | undefined {
  return context.environment === 'sandbox' ? printTryForm(member, firstTry) : undefined
}

export function printChecklist(
  { context }: Visit,
  member: Member,
  progress: Progress,
  tryForm: Html | undefined,
): Html {
  const steps = [
    ...beginningOf(context, member, progress),
    clientStep(member, progress),
    webhookStep(member, progress, tryForm !== undefined),
    tryForm ? sandboxEventStep(member, progress, tryForm) : eventStep(member, progress),
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  const next = steps.findIndex(({ isDone }) => !isDone)
  return html`<section class="card" aria-labelledby="onboarding"><h2 id="onboarding">Getting started <span
    class="faint">${done} of ${steps.length}</span></h2>
<ol class="checklist">${steps.map((step, place) => printStep(step, place === next))}</ol>
${done === steps.length && printNext(context, member)}</section>`
}

function printStep({ title, isDone, words }: Step, isNext: boolean): Html {
  const state = isDone ? badge('good', 'done') : badge(isNext ? 'wait' : 'off', isNext ? 'next' : 'to do')
  return html`<li class="${isDone ? 'ticked' : 'open'}"${
    isNext &&
    html`
    aria-current="step"`
  }><div><strong>${title}</strong> ${state}<div>${words}</div></div></li>`
}

function beginningOf(context: Context, { partner, home }: Member, { verifiedAt }: Progress): Step[] {
  const applied = { title: 'Apply', isDone: true, words: html`Applied on ${printDate(partner.createdAt)}.` }
  if (context.environment === 'sandbox') {
    const live =
      partner.status === 'applied' &&
      html` The brokerage is deciding about the live site:
        <a href="${onLiveSite(context, home)}">your application</a>.`
    return [applied, { title: 'Open the sandbox', isDone: true, words: html`Open since you applied.${live}` }]
  }
  const tried = { title: 'Try it in the sandbox', isDone: verifiedAt !== undefined }
  const words = verifiedAt
    ? html`First verified webhook: ${printDate(verifiedAt)}.`
    : html`<p>Receive your first verified webhook there. It needs no server.</p><a class="button primary"
      href="${inSandbox(context, home)}">Open the sandbox</a>`
  return [
    applied,
    { title: 'Get approved', isDone: true, words: 'The live site is open.' },
    { ...tried, words },
  ]
}

function clientStep({ home }: Member, { clients: [client] }: Progress): Step {
  const words = client
    ? html`<a href="${home}/clients/${client.id}">${client.name}</a>: <code>${client.id}</code>`
    : html`<p>Its id and secret identify your application.</p><a class="button"
      href="${home}/clients">Register a client</a>`
  return { title: 'Register a client', isDone: client !== undefined, words }
}

function webhookStep({ home }: Member, { webhooks: [webhook] }: Progress, isSandbox: boolean): Step {
  const words = webhook
    ? html`<a href="${home}/webhooks/${webhook.id}">Webhook ${webhook.id}</a>:
      <span class="url">${webhook.url}</span>`
    : html`<p>${isSandbox ? 'No server yet? The next step makes one with a built-in receiver.' : 'Where events are sent.'}</p><a class="button" href="${home}/webhooks">Register a webhook</a>`
  return { title: 'Add a webhook', isDone: webhook !== undefined, words }
}

/** By the built-in receiver, with one click. Whose own receiver took an event needs none. */
function sandboxEventStep(member: Member, progress: Progress, tryForm: Html): Step {
  const { verifiedAt } = progress
  const step = eventStep(member, progress)
  const link = html`<a href="${member.home}/receiver">See what arrived</a>`
  if (verifiedAt)
    return { ...step, isDone: true, words: html`Signature verified on ${printDate(verifiedAt)}. ${link}` }
  if (step.isDone) return step
  const words = html`<p>One click: a webhook with a built-in receiver, a signed test event, and what arrived.
    It needs no server.</p>${tryForm}`
  return { ...step, words }
}

function eventStep({ home }: Member, { webhooks, isDelivered }: Progress): Step {
  const send = html`<a class="button" href="${home}/test">Send a test event</a>`
  const open = webhooks.length > 0 ? html`<p>To your own webhook.</p>${send}` : 'Register a webhook first.'
  const words = isDelivered
    ? html`Your receiver accepted it. <a href="${home}/deliveries">See deliveries</a>`
    : open
  return { title: 'Receive a verified event', isDone: isDelivered, words }
}

/** What comes after the last step. */
function printNext(context: Context, { home, partner }: Member): Html {
  if (context.environment === 'live') return html`<p>All done. This list goes away by itself.</p>`
  const live = html`<a href="${onLiveSite(context, home)}">Go on to the live site</a>`
  return html`<p>All done. ${partner.status === 'approved' ? live : 'The live site opens when the brokerage approves you.'}</p>`
}

/** For a member who has registered a client a moment ago: the last step, from where they are. */
export async function printAfterClient({ context }: Visit, member: Member): Promise<Html | undefined> {
  if (context.environment !== 'sandbox' || (await findVerifiedAt(context.db, member.branch.branchId)))
    return undefined
  return html`<section class="card"><h2>Next: your first webhook</h2>
<p>Copy the secret first. Then receive a signed test event with the built-in receiver: it needs no server.</p>
${printTryForm(member, firstTry)}</section>`
}

/** For a user who applied, on the live site: what can be done meanwhile. */
export function printMeanwhile({ context }: Visit, { home }: AnyMember): Html | undefined {
  if (context.environment !== 'live') return undefined
  return html`<section class="card created"><h2>The sandbox is open</h2>
<p>You need not wait: register a client, add a webhook and receive your first verified event there.
  Nothing touches real money.</p>
<p><a class="button primary" href="${inSandbox(context, home)}">Open the sandbox</a></p></section>`
}
