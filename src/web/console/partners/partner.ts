/** One partner: what it said of itself, who and what belongs to it, and the answers an operator gives. */

import type { Sql } from '../../../database/database.ts'
import type { Application } from '../../../partners/application-details.ts'
import { listClients } from '../../../partners/client.ts'
import { listSecretsOfBranch } from '../../../partners/client-secret.ts'
import { ownPartnerWords } from '../../../partners/own-partner.ts'
import {
  decideAgainst,
  findApplication,
  getPartner,
  type ListedMember,
  listMembers,
  type Partner,
  type PartnerVersion,
  parseSeen,
  printSeen,
  withdrawRefreshAccess,
} from '../../../partners/partner.ts'
import { listMessages, sendMessage } from '../../../partners/partner-message.ts'
import { findRefreshRequest, type RefreshRequest } from '../../../partners/refresh-request.ts'
import { listOpenScopeRequests } from '../../../partners/scope-request.ts'
import { Invalid } from '../../../problem.ts'
import { findTextProblem } from '../../../text/name.ts'
import { permits } from '../../../vocabulary/permission.ts'
import { askFirst } from '../../frame/ask.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, emptyDraft, findProblem, formNotice, longField } from '../../frame/fields.ts'
import type { Undo } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField, notice, printDate } from '../../frame/page.ts'
import { badge, crumbs, facts } from '../../frame/parts.ts'
import { makeOnce } from '../../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'
import { messagesShown, printThread } from '../../parts/thread.ts'
import { goBack } from '../frame/back.ts'
import { linkTo, sendConsole } from '../frame/console.ts'
import { actOrPropose, type Offers, printOffer, readOffers, takesTwo } from '../frame/four-eyes.ts'
import { printClients } from './client-parts.ts'
import { printActsOn, printConnectionsOf, printFailedCallsOf, printWebhooksOf } from './partner-sections.ts'
import { partnerBadge } from './partners.ts'

const newestShown = 5

const doneWords = {
  approved: 'The partner is approved. What belongs to it works from now on.',
  declined: 'The application is declined. Its members read the reason and can apply again.',
  message: 'Your message is sent.',
  suspended: 'The partner is suspended. What belongs to it stopped working.',
  changed: 'Nothing was done: somebody else has decided meanwhile. This is how it stands now.',
  granted: 'Refresh access is granted. It shows in the next authorization.',
  withdrawn: 'Refresh access is withdrawn, and a request for it is declined.',
  'client-suspended': 'The client is suspended. Its tokens stopped working.',
  'client-activated': 'The client is active again.',
  'scopes-set': 'Allowed scopes updated. Existing tokens lose any scope that is no longer allowed.',
  'scopes-granted': 'The wider scopes are granted. Account holders have to approve them.',
  'scopes-declined': 'The request for wider scopes is declined.',
}

type DoneWord = keyof typeof doneWords

export async function showPartner(visit: Visit, operator: Operator) {
  return sendPartner(visit, operator, await partnerOf(visit), {})
}

export async function approvePartner(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const partner = await partnerOf(visit)
  const values = { branchId: partner.branchId, seen: printSeen(readSeen(form)) }
  return actOrPropose(visit, operator, 'partner.approve', values, async (isDone) => {
    const isSo = isDone || (await partnerOf(visit)).status === 'approved'
    return back(visit, operator, partner, isSo ? 'approved' : 'changed')
  })
}

function readSeen(form: SubmittedForm): PartnerVersion {
  const seen = parseSeen(form.find('seen'))
  if (!seen) throw new Invalid([{ field: 'seen', problem: 'must be the state that the page showed' }])
  return seen
}

export const declinePartner = withReason('declined')
export const suspendPartner = withReason('suspended')

/** The partner reads the reason on its own pages. */
function withReason(status: 'declined' | 'suspended') {
  return async (visit: Visit, operator: StrongOperator, form: SubmittedForm) => {
    const partner = await partnerOf(visit)
    const reason = form.find('reason')?.trim() ?? ''
    const wrong = findTextProblem(reason, 2_000)
    if (wrong) {
      const problem = new Invalid([{ field: 'reason', problem: wrong }])
      return sendPartner(visit, operator, partner, { draft: { values: { reason }, problem } })
    }
    return settle(visit, operator, partner, form, { status, reason })
  }
}

export async function writeToPartner(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const partner = await partnerOf(visit)
  const message = form.find('message')?.trim() ?? ''
  const send = (db: Sql) => sendMessage(db, partner, 'brokerage', message, operator.act)
  const path = `/console/partners/${partner.branchId}?done=message`
  const problem = await findProblem(() => makeOnce(visit.context, operator, form, send, () => path))
  if (problem) return sendPartner(visit, operator, partner, { writing: { values: { message }, problem } })
  return back(visit, operator, partner, 'message')
}

async function settle(
  visit: Visit,
  operator: Operator,
  partner: Partner,
  form: SubmittedForm,
  decision: { status: 'declined' | 'suspended'; reason: string },
) {
  const { db } = visit.context
  const decided = await decideAgainst(db, partner, { ...decision, seen: readSeen(form) }, operator.act)
  const now = await partnerOf(visit)
  const isSo = decided || now.status === decision.status
  const undo = { action: `/console/partners/${partner.branchId}/approve`, fields: { seen: printSeen(now) } }
  // No operator takes back with a click what another has decided, or what takes two people.
  const canUndo = decided && !takesTwo(visit, 'partner.approve')
  return back(visit, operator, partner, isSo ? decision.status : 'changed', canUndo ? undo : undefined)
}

/** A second click finds it answered. */
export async function grantRefresh(visit: Visit, operator: StrongOperator) {
  const partner = await partnerOf(visit)
  const { branchId } = partner
  return actOrPropose(visit, operator, 'partner.refresh-access', { branchId }, () =>
    back(visit, operator, partner, 'granted'),
  )
}

export async function withdrawRefresh(visit: Visit, operator: StrongOperator) {
  const { db } = visit.context
  const partner = await partnerOf(visit)
  const request = await findRefreshRequest(db, partner)
  if (partner.refreshAccess || isOpen(request)) await withdrawRefreshAccess(db, partner, operator.act)
  const undo = { action: `/console/partners/${partner.branchId}/refresh/grant` }
  const canUndo = !takesTwo(visit, 'partner.refresh-access')
  return back(visit, operator, partner, 'withdrawn', canUndo ? undo : undefined)
}

export function partnerOf({ context, request }: Visit): Promise<Partner> {
  return getPartner(context.db, String(idOf(paramsOf(request).branch)))
}

export function back(
  visit: Visit,
  operator: Operator,
  { branchId, name }: Partner,
  done: DoneWord,
  undo?: Undo,
) {
  const about = `branch:${branchId}`
  return goBack(visit, operator, {
    path: `/console/partners/${branchId}`,
    about,
    name,
    text: doneWords[done],
    undo,
  })
}

function isOpen(request: RefreshRequest | undefined): request is RefreshRequest {
  return request !== undefined && request.answeredAt === null
}

interface PartnerPage {
  readonly draft?: Draft
  readonly writing?: Draft
}

async function sendPartner(visit: Visit, operator: Operator, partner: Partner, page: PartnerPage) {
  const { draft = emptyDraft, writing = emptyDraft } = page
  const { db, clock } = visit.context
  const clients = await listClients(db, partner.branchId)
  const secrets = await listSecretsOfBranch(db, partner.branchId, clock.now())
  const requests = await listOpenScopeRequests(db, partner.branchId)
  const home = `/console/partners/${partner.branchId}`
  const around = { db, now: clock.now(), most: newestShown, operator }
  const manages = operator.may('partners.manage')
  const offers = await readOffers(visit)
  return sendConsole(visit, operator, {
    title: partner.name,
    section: '/console/partners',
    status: (draft.problem ?? writing.problem)?.status ?? 200,
    body: html`${crumbs([{ path: '/console/partners', label: 'Partners' }])}
<h1>${partner.name} ${partnerBadge(partner.status)}</h1>
${permits(operator.roles, 'partners.manage') && !manages && notice('error', ownPartnerWords)}
${printApplication(partner, await findApplication(db, partner))}
${manages && printDecision(partner, draft, operator, offers)}
${printThread(await listMessages(db, partner, messagesShown), { side: 'brokerage', action: manages ? `${home}/message` : undefined, csrf: operator.csrf, draft: writing })}
${printRefresh(partner, await findRefreshRequest(db, partner), operator, offers)}
${printClients({ clients, secrets, requests, home, csrf: operator.csrf, manages, offers })}
${printMembers(await listMembers(db, partner), operator)}
<section class="card"><h2>Webhooks</h2>${await printWebhooksOf(around, partner.branchId)}</section>
<section class="card"><h2>Failed API calls</h2>${await printFailedCallsOf(around, partner.branchId)}</section>
<section class="card"><h2>Connections</h2>${await printConnectionsOf(around, clients)}</section>
<section class="card"><h2>History</h2>${await printActsOn(around, partner.branchId, clients)}</section>`,
  })
}

function printApplication(partner: Partner, application: Application | undefined): Html {
  return html`<section class="card"><h2>Application</h2>
${
  partner.status === 'suspended' &&
  notice(
    'error',
    html`Suspended. Reason:
  ${partner.statusReason ?? 'none was given'}`,
  )
}
${
  partner.status === 'declined' &&
  notice(
    'error',
    html`Declined. Reason:
  ${partner.statusReason ?? 'none was given'}`,
  )
}
${facts([
  ['Branch', partner.branchId],
  ['Applied', printDate(partner.createdAt)],
  ['Website', application && printWebsite(application.website)],
  ['E-mail', application?.contact],
  ['Purpose', application?.purpose],
])}${
  !application &&
  html`<p class="faint">It was registered by the brokerage.
  No description given.</p>`
}</section>`
}

/**
 * An applicant wrote it: a browser that follows it sends nothing along, and the page it opens cannot reach
 * this one.
 */
function printWebsite(website: string): Html {
  return /^https?:\/\//i.test(website)
    ? html`<a href="${website}" rel="noreferrer noopener nofollow" target="_blank">${website}</a>`
    : html`${website}`
}

const decisions = {
  approve: {
    label: 'Approve',
    hint: 'Approved, it may register live clients and webhooks. The sandbox has been open to it since it applied.',
  },
  again: {
    label: 'Approve again',
    hint: 'Approved again, its clients, tokens and webhooks go on where they stopped.',
  },
  late: { label: 'Approve after all', hint: 'Approved, it may register clients and webhooks on both sites.' },
} as const

function printDecision(partner: Partner, draft: Draft, operator: Operator, offers: Offers): Html {
  const { status, branchId } = partner
  const { csrf } = operator
  const home = `/console/partners/${branchId}`
  const seen = html`${csrfField(csrf)}<input type="hidden" name="seen" value="${printSeen(partner)}">`
  const { label, hint } =
    decisions[status === 'applied' ? 'approve' : status === 'declined' ? 'late' : 'again']
  const approve = printOffer(offers, operator, {
    ...{ kind: 'partner.approve', subject: `branch:${branchId}`, action: `${home}/approve`, label },
    ...{ fields: { seen: printSeen(partner) }, more: html`<p>${hint}</p>`, look: 'primary' },
  })
  const reasonTo = (verb: string, hint: string) =>
    longField(draft, {
      name: 'reason',
      label: `Reason to ${verb}`,
      hint,
      more: html`required maxlength="${fieldLengths['/console/partners/:branch/decline'].reason}"`,
    })
  const decline = html`<form method="post" action="${home}/decline">${seen}
${reasonTo('decline', 'Its members read it, lose the sandbox, and can apply again.')}<button
  class="danger">Decline</button></form>`
  return html`<section class="card"><h2>Decision</h2>${formNotice(draft, 'reason')}
${status !== 'approved' && approve}
${status === 'applied' && decline}
${
  status === 'approved' &&
  askFirst({
    ...{
      action: `${home}/suspend`,
      csrf,
      fields: { seen: printSeen(partner) },
      label: 'Suspend',
      of: partner.name,
    },
    text: 'Clients and tokens of a suspended partner are refused at once, and its webhooks are stopped.',
    more: reasonTo('suspend', 'Its members read it.'),
  })
}</section>`
}

function printRefresh(
  partner: Partner,
  request: RefreshRequest | undefined,
  operator: Operator,
  offers: Offers,
): Html {
  const open = isOpen(request)
  const home = `/console/partners/${partner.branchId}`
  const grant = () =>
    printOffer(offers, operator, {
      ...{
        kind: 'partner.refresh-access',
        subject: `branch:${partner.branchId}`,
        action: `${home}/refresh/grant`,
      },
      ...{ label: open ? 'Grant' : 'Grant refresh access', look: open ? 'primary' : 'plain' },
    })
  const withdraw = (label: string) =>
    askFirst({
      ...{ action: `${home}/refresh/withdraw`, csrf: operator.csrf, label, why: true },
      text: 'Its refresh tokens are refused at once, until refresh access is granted.',
    })
  const granted = partner.refreshAccess
  return html`<section class="card"><h2>Refresh access ${granted ? badge('good', 'granted') : open ? badge('wait', 'asked') : badge('off', 'none')}</h2>
<p>With it, the partner's clients renew access tokens without asking the account holder again. Withdrawn,
  its refresh tokens are refused at once.</p>
${request && printRequest(request)}
${
  operator.may('partners.manage') &&
  html`<div
  class="acts">${!granted && grant()}${open && !granted && withdraw('Decline the request')}${granted && withdraw('Withdraw refresh access')}</div>`
}</section>`
}

function printRequest({ reason, askedAt, answeredAt, granted }: RefreshRequest): Html {
  return html`<p>Asked ${printDate(askedAt)}: “${reason}”${
    answeredAt !== null &&
    html`<br><span
    class="faint">${granted ? 'granted' : 'declined'} ${printDate(answeredAt)}</span>`
  }</p>`
}

function printMembers(members: readonly ListedMember[], operator: Operator): Html {
  const items = members.map(
    ({ id, username, name, role, addedAt }) =>
      html`<li><div>${linkTo(operator, `/console/users/${id}`, html`<strong>${name}</strong>`)} ${username}
        ${badge(role === 'owner' ? 'good' : 'off', role)}<br><span class="faint">member since
        ${printDate(addedAt)}</span></div></li>`,
  )
  return html`<section class="card"><h2>Members</h2>
${
  items.length === 0
    ? html`<p class="empty">It has none.</p>`
    : html`<ul
  class="tokens">${items}</ul>`
}</section>`
}
