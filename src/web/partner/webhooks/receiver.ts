/**
 * The receiver that the sandbox has built in: one click makes a webhook for it and sends an event, and the
 * page shows what arrived.
 */
import type { Sql } from '../../../database/database.ts'
import { Conflict } from '../../../problem.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import { insertEvents } from '../../../webhooks/events/event.ts'
import { payloads } from '../../../webhooks/events/kind.ts'
import { partOf } from '../../../webhooks/events/part.ts'
import { freshId, simulateEvent } from '../../../webhooks/events/simulated-event.ts'
import {
  type BuiltInReceiver,
  ensureReceiver,
  findReceiver,
  findVerifiedAt,
  listReceipts,
  type Receipt,
  receiptDays,
  receiptsKept,
} from '../../../webhooks/subscriptions/built-in-receiver.ts'
import { copyBlock, copyLine } from '../../frame/copy.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { notice } from '../../frame/page.ts'
import { badge, crumbs, facts, printMoment } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'

/** Makes the webhook unless it is there, and sends it an event of its own. */
export async function tryReceiver(visit: Visit, member: Member, form: Submission<typeof forms.tryReceiver>) {
  const { context, request } = visit
  const make = async (db: Sql) => {
    if (context.testHooks.isOn) await context.testHooks.count(branchKey(member.branch))
    const receiver = await prepare(visit, member, db)
    const { traceparent } = request.span ?? {}
    await insertEvents(db, [exampleOf(member, receiver)], context.clock.now(), [traceparent])
  }
  const path = `${member.home}/receiver`
  await makeOnce(context, member, form, make, () => path)
  // It goes out by itself; the member who looks at it next sees it on its way already.
  await context.numbering.number(partOf(member.branch.branchId)).catch(() => {})
  const link = { path: `${member.home}/deliveries`, label: 'Deliveries' }
  return leadToDone(visit, member, path, { text: 'An event is sent to the built-in receiver.', link })
}

async function prepare({ context }: Visit, { branch, act }: Member, db: Sql): Promise<BuiltInReceiver> {
  const deps = { db, vault: context.vault, policy: context.guard }
  const receiver = await ensureReceiver(deps, branch, context.baseUrl, act)
  const { webhookId, state } = receiver
  if (state === 'active') return receiver
  throw new Conflict(`Webhook ${webhookId} is ${state}. Resume it on its page, then send another event.`)
}

function exampleOf({ branch }: Member, { webhookId }: BuiltInReceiver) {
  const [example] = payloads.TRANSACTION.examples!
  const { transactionId } = freshId('TRANSACTION')
  const payload = { ...example!, transactionId: Number(transactionId), branchId: branch.branchId }
  return simulateEvent(branch, 'TRANSACTION', payload, String(example!.amount), webhookId)
}

export function printTryForm(member: Member, label: string): Html {
  return member.forms.button(forms.tryReceiver, label, { buttonLook: 'primary' })
}

export const firstTry = 'Receive a test event now'

export async function showReceiver(visit: Visit, member: Member) {
  const { db } = visit.context
  const { home, partner } = member
  const print = async () => {
    const { branchId } = partner
    return printReceipts(await listReceipts(db, branchId), await findVerifiedAt(db, branchId), home)
  }
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  const receiver = await findReceiver(db, partner.branchId)
  return sendPortal(visit, member, {
    title: 'Built-in receiver',
    section: '/webhooks',
    live: true,
    scripts: ['copy.js'],
    body: html`${crumbs([{ path: `${home}/webhooks`, label: 'Webhooks' }])}
<h1>Built-in receiver</h1>
<p>A webhook whose receiver is part of the sandbox, so you need no server. Events are signed,
  delivered and verified as your own will be. The last ${receiptsKept} are kept for ${receiptDays} days.</p>
${receiver && printFacts(receiver, home)}
${member.isDeveloper && printTryForm(member, receiver ? 'Send another event' : firstTry)}
${livePart(visit, await print())}`,
  })
}

function printFacts({ webhookId, url, state }: BuiltInReceiver, home: string): Html {
  return html`<section class="card">${facts([
    [
      'Webhook',
      html`<a href="${home}/webhooks/${webhookId}">${webhookId}</a>${
        state !== 'active' &&
        html`
        ${badge('wait', state)}`
      }`,
    ],
    ['URL', copyLine('the URL', url)],
  ])}<p class="small">Nothing listens at this address: only the gateway delivers to it,
    from the inside.</p></section>`
}

function printReceipts(receipts: readonly Receipt[], verifiedAt: Date | undefined, home: string): Html {
  const done = notice(
    'success',
    html`Signature verified: your first webhook works. <a href="${home}">Back to the overview</a>`,
  )
  return html`${verifiedAt !== undefined && done}<h2>Received</h2>
${
  receipts.length === 0
    ? html`<p class="card empty">Nothing yet. An event that was just sent arrives in a
  moment; without script, load the page again.</p>`
    : receipts.map(printReceipt)
}`
}

/** The newest is open. */
function printReceipt({ eventUid, verified, head, body, receivedAt }: Receipt, place: number): Html {
  const verdict = verified ? badge('good', 'signature verified') : badge('bad', 'wrong signature')
  return html`<details class="card"${place === 0 && html` open`}><summary>${verdict} <code>${eventUid}</code>
    <span class="faint">${printMoment(receivedAt)}</span></summary>
<h3>Headers</h3>${copyBlock('the headers', head)}
<h3>Body</h3>${copyBlock('the body', body)}
<p class="small">Verify it the same way:
  <code>x-webhook-signature</code> is the lower-case hex HMAC-SHA256 of the body's exact bytes,
  with the secret that signs this webhook.</p></details>`
}
