/** The API calls of one partner's clients, as the partner sees them in its portal. */
import { findCall } from '../../../partners/calls.ts'
import { NotFound } from '../../../problem.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { oneOf } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, sendListFile } from '../../frame/list.ts'
import { crumbs } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { callFields, callList, findCallFaults, keptWords, printCall, printCalls } from '../../parts/calls.ts'
import { sendConsole } from '../frame/console.ts'
import { partnerOf } from './partner.ts'

const fields = {
  site: oneOf({
    label: 'Site',
    of: environments,
    choices: [
      { value: 'live', label: 'Live' },
      { value: 'sandbox', label: 'Sandbox' },
    ],
  }),
  ...callFields,
}

export async function showCalls(visit: Visit, operator: Operator) {
  const { db, clock } = visit.context
  const { branchId, name } = await partnerOf(visit)
  const home = `/console/partners/${branchId}`
  const question = readQuestion(visit.query, fields, findCallFaults)
  const owner = { branchId, environment: question.values.site ?? 'live' }
  const here = `${home}/calls`
  const list = callList(db, owner, question.values, clock.now(), here)
  if (asksForFile(visit))
    return sendListFile(visit, operator, operatorWatcher(visit, operator), list, question)
  return sendConsole(visit, operator, {
    title: `API calls of ${name}`,
    section: '/console/partners',
    status: question.status,
    body: html`${crumbs([
      { path: '/console/partners', label: 'Partners' },
      { path: home, label: name },
    ])}
<h1>API calls</h1>
<p>${keptWords}</p>
<form class="card filter" method="get" action="${here}" role="search" aria-label="API calls">
${(['site', 'status', 'route', 'client', 'request', 'failed', 'unmet'] as const).map((each): Html => question.view.field(each))}
<div class="field"><button class="primary">Show</button></div>
</form>
${!question.isWrong && html`${printFileLink(here, question.printSearch())}${await printCalls(list, question, here)}`}`,
  })
}

export async function showCall(visit: Visit, operator: Operator) {
  const { db, clock } = visit.context
  const { branchId, name } = await partnerOf(visit)
  const home = `/console/partners/${branchId}`
  const call = await findCall(db, branchId, idOf(paramsOf(visit.request).call), clock.now())
  if (!call) throw new NotFound('No such call of the last 24 hours is kept.')
  const { clientId, environment, requestId } = call
  const client = clientId ? html`<code>${clientId}</code>` : 'a member, by a personal token'
  return sendConsole(visit, operator, {
    title: `API call ${requestId}`,
    section: '/console/partners',
    body: html`${crumbs([
      { path: '/console/partners', label: 'Partners' },
      { path: home, label: name },
      { path: `${home}/calls?site=${environment}`, label: 'API calls' },
    ])}
${printCall(call, client)}`,
  })
}
