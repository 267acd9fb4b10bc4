/** All API calls of a partner's clients on this site, of the last 24 hours, and one of them. */
import { findCall } from '../../../partners/calls.ts'
import { NotFound } from '../../../problem.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, sendListFile } from '../../frame/list.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { crumbs } from '../../frame/parts.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import { printListBar } from '../../frame/saved-views.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { callFields, callList, findCallFaults, keptWords, printCall, printCalls } from '../../parts/calls.ts'
import { sendPortal } from '../frame/portal.ts'

const section = '/calls'

export async function showCalls(visit: Visit, member: Member) {
  const { db, clock } = visit.context
  const question = readQuestion(visit.query, callFields, findCallFaults)
  const home = member.home + section
  const list = callList(db, member.branch, question.values, clock.now(), home)
  if (asksForFile(visit)) return sendListFile(visit, member, memberWatcher(visit, member), list, question)
  const print = () =>
    printCalls(callList(db, member.branch, question.values, clock.now(), home), question, home)
  if (asksForStream(visit.request) && !question.isWrong)
    return streamPart(visit, memberWatcher(visit, member), print)
  // Older pages do not change under the reader.
  const live = question.values.before === undefined && !question.isWrong
  const part = question.isWrong ? html`` : await print()
  return sendPortal(visit, member, {
    title: 'API calls',
    section,
    live,
    status: question.status,
    body: html`<h1>API calls</h1>
<p>${keptWords}</p>
${printFilter(question, member)}
${await printListBar(visit, member, home, question)}
${live ? livePart(visit, part) : part}`,
  })
}

function printFilter({ view }: Question<typeof callFields>, { home }: Member): Html {
  return html`<form class="card filter" method="get" action="${home}${section}" role="search"
    aria-label="API calls">
${view.field('status')}
${view.field('route')}
${view.field('client')}
${view.field('request')}
${view.field('failed')}
${view.field('unmet')}
<div class="field"><button class="primary">Show</button></div>
</form>`
}

export async function showCall(visit: Visit, member: Member) {
  const { db, clock } = visit.context
  const { branchId, environment } = member.branch
  const call = await findCall(db, branchId, idOf(paramsOf(visit.request).call), clock.now())
  if (call?.environment !== environment) throw new NotFound('No such call of the last 24 hours is kept.')
  const { clientId } = call
  const client = clientId
    ? html`<a href="${member.home}/clients/${clientId}"><code>${clientId}</code></a>`
    : 'a member, by a personal token'
  return sendPortal(visit, member, {
    title: `API call ${call.requestId}`,
    section,
    body: html`${crumbs([{ path: member.home + section, label: 'API calls' }])}
${printCall(call, client)}`,
  })
}
