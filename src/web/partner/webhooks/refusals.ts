/** The last refused calls, each with the rule that refused it and how to fix it. */
import { type KeptRefusedCall, listRefusedCalls } from '../../../partners/refused-calls.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { badge, facts, printMoment } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import { remedyOf } from './remedies.ts'

const shownAtMost = 100

export async function showRefusals(visit: Visit, member: Member) {
  const { db } = visit.context
  const { branchId, environment } = member.branch
  const print = async () => printCalls(await listRefusedCalls(db, branchId, environment, shownAtMost))
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  return sendPortal(visit, member, {
    title: 'Failed API calls',
    section: '/refusals',
    live: true,
    body: html`<h1>Failed API calls</h1>
<p>The last calls to the API and to OAuth that were refused, a second or two after they came.
  Secrets are never written down.</p>
${livePart(visit, await print())}`,
  })
}

function printCalls(calls: readonly KeptRefusedCall[]): Html {
  if (calls.length === 0) return html`<p class="card empty">No call has failed.</p>`
  return html`<ol class="attempts">${calls.map(printCall)}</ol>`
}

function printCall(call: KeptRefusedCall): Html {
  const { isClaimed, clientId, at, method, route, status, code, description, sent, requestId } = call
  return html`<li class="card"><p>${badge('bad', String(status))} <strong>${method} ${route}</strong>
    <span class="faint">${printMoment(at)}</span></p>
<p><code>${code}</code> ${description}</p>
<p><strong>How to fix it:</strong> ${remedyOf(call)}</p>
<details><summary>What was sent</summary><pre tabindex="0">${sent}</pre>${facts([
    ['Client', clientId ?? 'a member, by a personal token'],
    ['Proven', isClaimed ? 'no: the caller only said so' : 'yes'],
    ['Request id', html`<code>${requestId}</code>`],
  ])}</details></li>`
}
