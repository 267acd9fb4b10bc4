/** One partner: what it said of itself, who and what belongs to it, and the answers an operator gives. */
import { findTextProblem } from '../../name.ts'
import { listClients } from '../../partners/client.ts'
import { listSecretsOfBranch } from '../../partners/client-secret.ts'
import {
  type Application,
  decide,
  findApplication,
  getPartner,
  type ListedMember,
  listMembers,
  type Partner,
  partnerStatuses,
  setRefreshAccess,
} from '../../partners/partner.ts'
import { findRefreshRequest, type RefreshRequest } from '../../partners/refresh-request.ts'
import { listOpenScopeRequests } from '../../partners/scope-request.ts'
import { Invalid } from '../../problem.ts'
import { printDone } from '../frame/done.ts'
import { type Draft, emptyDraft, formNotice, longField } from '../frame/fields.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { csrfField, notice, printDate } from '../frame/page.ts'
import { badge, crumbs, facts } from '../frame/parts.ts'
import { idOf, paramsOf, type Visit } from '../frame/visit.ts'
import type { Operator, StrongOperator } from '../gates.ts'
import { goBack } from './back.ts'
import { printClients } from './client-parts.ts'
import { sendConsole } from './console.ts'
import { printActsOn, printConnectionsOf, printFailedCallsOf, printWebhooksOf } from './partner-sections.ts'
import { partnerBadge } from './partners.ts'

const newestShown = 5

export const doneWords = {
  approved: 'The partner is approved. What belongs to it works from now on.',
  suspended: 'The partner is suspended. What belongs to it stopped working.',
  changed: 'Nothing was done: somebody else has decided meanwhile. This is how it stands now.',
  granted: 'Refresh access is granted. It shows in the next authorization.',
  withdrawn: 'Refresh access is withdrawn, and a request for it is declined.',
  'client-suspended': 'The client is suspended. Its tokens stopped working.',
  'client-activated': 'The client is active again.',
  'scopes-set': 'The most that the client may ask for is set. Tokens given before have what is left of theirs.',
  'scopes-granted': 'The wider scopes are granted. Account holders have to approve them.',
  'scopes-declined': 'The request for wider scopes is declined.',
}

export type Done = keyof typeof doneWords

export async function showPartner(visit: Visit, operator: Operator) {
  return sendPartner(visit, operator, await partnerOf(visit), emptyDraft)
}

export async function approvePartner(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  return settle(visit, operator, await partnerOf(visit), form, { status: 'approved' })
}

/** The partner reads the reason on its own pages. */
export async function suspendPartner(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const partner = await partnerOf(visit)
  const reason = form.find('reason')?.trim() ?? ''
  const wrong = findTextProblem(reason, 2_000)
  if (wrong) {
    const problem = new Invalid([{ field: 'reason', problem: wrong }])
    return sendPartner(visit, operator, partner, { values: { reason }, problem })
  }
  return settle(visit, operator, partner, form, { status: 'suspended', reason })
}

async function settle(
  visit: Visit,
  { act }: Operator,
  partner: Partner,
  form: SubmittedForm,
  decision: { status: 'approved' | 'suspended'; reason?: string },
) {
  const { db } = visit.context
  const seen = partnerStatuses.find((status) => status === form.find('seen'))
  if (!seen) throw new Invalid([{ field: 'seen', problem: 'must be the state that the page showed' }])
  const decided = await decide(db, partner, { ...decision, seen }, act)
  const isSo = decided || (await partnerOf(visit)).status === decision.status
  return back(visit, partner, isSo ? decision.status : 'changed')
}

export function grantRefresh(visit: Visit, operator: StrongOperator) {
  return answerRefresh(visit, operator, true)
}

export function withdrawRefresh(visit: Visit, operator: StrongOperator) {
  return answerRefresh(visit, operator, false)
}

/** A second click finds it answered. */
async function answerRefresh(visit: Visit, { act }: Operator, allowed: boolean) {
  const { db } = visit.context
  const partner = await partnerOf(visit)
  const request = await findRefreshRequest(db, partner)
  if (partner.refreshAccess !== allowed || isOpen(request)) {
    await setRefreshAccess(db, partner, allowed, act)
  }
  return back(visit, partner, allowed ? 'granted' : 'withdrawn')
}

export function partnerOf({ context, request }: Visit): Promise<Partner> {
  return getPartner(context.db, String(idOf(paramsOf(request).branch)))
}

export function back(visit: Visit, { branchId }: Partner, done: Done) {
  return goBack(visit, { path: `/console/partners/${branchId}`, about: `branch:${branchId}`, done })
}

function isOpen(request: RefreshRequest | undefined): request is RefreshRequest {
  return request !== undefined && request.answeredAt === null
}

async function sendPartner(visit: Visit, operator: Operator, partner: Partner, draft: Draft) {
  const { db, clock } = visit.context
  const clients = await listClients(db, partner.branchId)
  const secrets = await listSecretsOfBranch(db, partner.branchId, clock.now())
  const requests = await listOpenScopeRequests(db, partner.branchId)
  const home = `/console/partners/${partner.branchId}`
  const around = { db, now: clock.now(), most: newestShown }
  return sendConsole(visit, operator, {
    title: partner.name,
    section: '/console/partners',
    ...(draft.problem && { status: draft.problem.status }),
    body: html`${crumbs([{ path: '/console/partners', label: 'Partners' }])}
<h1>${partner.name} ${partnerBadge(partner.status)}</h1>
${printDone(visit.request, doneWords)}
${printApplication(partner, await findApplication(db, partner))}
${printDecision(partner, draft, home, operator)}
${printRefresh(partner, await findRefreshRequest(db, partner), home, operator)}
${printClients({ clients, secrets, requests, home, csrf: operator.csrf })}
${printMembers(await listMembers(db, partner))}
<section class="card"><h2>Webhooks</h2>${await printWebhooksOf(around, partner.branchId)}</section>
<section class="card"><h2>Failed API calls</h2>${await printFailedCallsOf(around, partner.branchId)}</section>
<section class="card"><h2>Connections</h2>${await printConnectionsOf(around, clients)}</section>
<section class="card"><h2>History</h2>${await printActsOn(around, partner.branchId, clients)}</section>`,
  })
}

function printApplication(partner: Partner, application: Application | undefined): Html {
  return html`<section class="card"><h2>Application</h2>
${partner.status === 'suspended' && notice('error', html`Suspended. Reason: ${partner.statusReason ?? 'none was given'}`)}
${facts([
  ['Branch', partner.branchId],
  ['Applied', printDate(partner.createdAt)],
  ['Website', application && printWebsite(application.website)],
  ['E-mail', application?.contact],
  ['Purpose', application?.purpose],
])}${!application && html`<p class="faint">It was registered by the brokerage, and said nothing of itself.</p>`}</section>`
}

/** A stranger wrote it: whoever follows it sends nothing along, and the page it opens cannot reach this one. */
function printWebsite(website: string): Html {
  return /^https?:\/\//i.test(website)
    ? html`<a href="${website}" rel="noreferrer noopener nofollow" target="_blank">${website}</a>`
    : html`${website}`
}

function printDecision(partner: Partner, draft: Draft, home: string, { csrf }: Operator): Html {
  const seen = html`${csrfField(csrf)}<input type="hidden" name="seen" value="${partner.status}">`
  const isNew = partner.status === 'applied'
  const approve = html`<form method="post" action="${home}/approve">${seen}
<p>${isNew ? 'Approved, it may register clients and webhooks.' : 'Approved again, its clients, tokens and webhooks go on where they stopped.'}</p>
<button class="primary">${isNew ? 'Approve' : 'Approve again'}</button></form>`
  const suspend = html`<form method="post" action="${home}/suspend">${seen}
${longField(draft, { name: 'reason', label: isNew ? 'Reason to decline' : 'Reason to suspend', hint: isNew ? 'Its members read it.' : 'Its members read it. Clients and tokens of a suspended partner are refused at once, and its webhooks stand still.', more: html`required maxlength="2000"` })}
<button class="danger">${isNew ? 'Decline' : 'Suspend'}</button></form>`
  return html`<section class="card"><h2>Decision</h2>${formNotice(draft, 'reason')}
${partner.status !== 'approved' && approve}
${partner.status !== 'suspended' && suspend}</section>`
}

function printRefresh(partner: Partner, request: RefreshRequest | undefined, home: string, operator: Operator): Html {
  const open = isOpen(request)
  const act = (verb: string, label: string, kind: string) =>
    html`<form method="post" action="${home}/refresh/${verb}">${csrfField(operator.csrf)}<button class="${kind}">${label}</button></form>`
  const granted = partner.refreshAccess
  return html`<section class="card"><h2>Refresh access ${granted ? badge('good', 'granted') : open ? badge('wait', 'asked') : badge('off', 'none')}</h2>
<p>With it, the partner's clients renew access tokens without asking the account holder again. Withdrawn, its refresh tokens are refused at once.</p>
${request && printRequest(request)}
<div class="acts">${!granted && act('grant', open ? 'Grant' : 'Grant refresh access', open ? 'primary' : 'plain')}${open && !granted && act('withdraw', 'Decline the request', 'danger')}${granted && act('withdraw', 'Withdraw refresh access', 'danger')}</div></section>`
}

function printRequest({ reason, askedAt, answeredAt, granted }: RefreshRequest): Html {
  return html`<p>Asked ${printDate(askedAt)}: “${reason}”${answeredAt !== null && html`<br><span class="faint">${granted ? 'granted' : 'declined'} ${printDate(answeredAt)}</span>`}</p>`
}

function printMembers(members: readonly ListedMember[]): Html {
  const items = members.map(
    ({ id, username, name, addedAt }) =>
      html`<li><div><a href="/console/users/${id}"><strong>${name}</strong></a> ${username}<br><span class="faint">member since ${printDate(addedAt)}</span></div></li>`,
  )
  return html`<section class="card"><h2>Members</h2>
${items.length === 0 ? html`<p class="empty">It has none.</p>` : html`<ul class="tokens">${items}</ul>`}</section>`
}
