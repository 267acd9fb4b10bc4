/** One partner: what it said of itself, who and what belongs to it, and the answers an operator gives. */

import type { Sql } from '../../../database/database.ts'
import type { Application } from '../../../partners/application-details.ts'
import { listClients } from '../../../partners/client.ts'
import { listKeysOfBranch } from '../../../partners/client-keys.ts'
import { readReadiness } from '../../../partners/client-profile.ts'
import { listSecretsOfBranch } from '../../../partners/client-secret.ts'
import { listKeySetsOfBranch } from '../../../partners/key-sets.ts'
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
import { listOpenProfileRequests } from '../../../partners/profile-request.ts'
import { findRefreshRequest, type RefreshRequest } from '../../../partners/refresh-request.ts'
import { listOpenScopeRequests } from '../../../partners/scope-request.ts'
import { Invalid } from '../../../problem.ts'
import { permits } from '../../../vocabulary/permission.ts'
import type { Undo } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { notice, printDate } from '../../frame/page.ts'
import { badge, crumbs, facts } from '../../frame/parts.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import type { Operator, ReasonedOperator, StrongOperator } from '../../gates/gates.ts'
import { messagesShown, printThread } from '../../parts/thread.ts'
import { goBack } from '../frame/back.ts'
import { linkTo, sendConsole } from '../frame/console.ts'
import { actOrPropose, type Offers, printOffer, readOffers, takesTwo } from '../frame/four-eyes.ts'
import { printClients } from './client-parts.ts'
import * as forms from './forms.ts'
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
  'required-set':
    'Required scopes updated. They count from the next approval on; what was approved before stays.',
  'scopes-set': 'Allowed scopes updated. Existing tokens lose any scope that is no longer allowed.',
  'scopes-granted': 'The wider scopes are granted. Account holders have to approve them.',
  'scopes-declined': 'The request for wider scopes is declined.',
  'profile-set': 'The profile is set.',
  'profile-declined': 'The request for FAPI 2.0 is declined.',
}

type DoneWord = keyof typeof doneWords

export async function showPartner(visit: Visit, operator: Operator) {
  const partner = await partnerOf(visit)
  const { db, clock } = visit.context
  const clients = await listClients(db, partner.branchId)
  const now = clock.now()
  const secrets = await listSecretsOfBranch(db, partner.branchId, now)
  const keys = await listKeysOfBranch(db, partner.branchId)
  const keySets = await listKeySetsOfBranch(db, partner.branchId)
  const requests = await listOpenScopeRequests(db, partner.branchId)
  const profiles = {
    now,
    readiness: await readReadiness(db, clients, now),
    requests: await listOpenProfileRequests(db, partner.branchId),
  }
  const home = `/console/partners/${partner.branchId}`
  const around = { db, now, most: newestShown, operator }
  const manages = operator.may('partners.manage')
  const offers = await readOffers(visit)
  return sendConsole(visit, operator, {
    title: partner.name,
    section: '/console/partners',
    body: html`${crumbs([{ path: '/console/partners', label: 'Partners' }])}
<h1>${partner.name} ${partnerBadge(partner.status)}</h1>
${permits(operator.roles, 'partners.manage') && !manages && notice('error', ownPartnerWords)}
${printApplication(partner, await findApplication(db, partner))}
${manages && printDecision(partner, operator, offers)}
${printThread(await listMessages(db, partner, messagesShown), { side: 'brokerage', form: manages ? forms.writeMessage : undefined, forms: operator.forms })}
${printRefresh(partner, await findRefreshRequest(db, partner), operator, offers)}
${printClients({ clients, secrets, keys, keySets, requests, profiles, home, operator, manages, offers })}
${printMembers(await listMembers(db, partner), operator)}
<section class="card"><h2>Webhooks</h2>${await printWebhooksOf(around, partner.branchId)}</section>
<section class="card"><h2>Failed API calls</h2>${await printFailedCallsOf(around, partner.branchId)}</section>
<section class="card"><h2>Connections</h2>${await printConnectionsOf(around, clients)}</section>
<section class="card"><h2>History</h2>${await printActsOn(around, partner.branchId, clients)}</section>`,
  })
}

export async function approvePartner(
  visit: Visit,
  operator: StrongOperator,
  { values: { seen, reason, from } }: Submission<typeof forms.approve>,
) {
  const partner = await partnerOf(visit)
  const values = { branchId: partner.branchId, seen: printSeen(readSeen(seen)) }
  return actOrPropose(visit, operator, { kind: 'partner.approve', values, reason }, async (isDone) => {
    const isSo = isDone || (await partnerOf(visit)).status === 'approved'
    return back(visit, operator, partner, isSo ? 'approved' : 'changed', { from })
  })
}

function readSeen(text: string): PartnerVersion {
  const seen = parseSeen(text)
  if (!seen) throw new Invalid([{ field: 'seen', problem: 'must be the state that the page showed' }])
  return seen
}

export function declinePartner(
  visit: Visit,
  operator: ReasonedOperator,
  { values }: Submission<typeof forms.decline>,
) {
  return refusePartner(visit, operator, 'declined', values)
}

export function suspendPartner(
  visit: Visit,
  operator: ReasonedOperator,
  { values }: Submission<typeof forms.suspend>,
) {
  return refusePartner(visit, operator, 'suspended', values)
}

/** The partner reads the reason on its own pages. */
async function refusePartner(
  visit: Visit,
  operator: ReasonedOperator,
  status: 'declined' | 'suspended',
  { seen, from }: { readonly seen: string; readonly from?: string },
) {
  const { db } = visit.context
  const partner = await partnerOf(visit)
  const decision = { status, reason: operator.act.reason, seen: readSeen(seen) }
  const decided = await decideAgainst(db, partner, decision, operator.act)
  const now = await partnerOf(visit)
  const isSo = decided || now.status === status
  const undo = { action: `/console/partners/${partner.branchId}/approve`, fields: { seen: printSeen(now) } }
  // No operator takes back with a click what another has decided, or what takes two people.
  const canUndo = decided && !takesTwo(visit, 'partner.approve')
  return back(visit, operator, partner, isSo ? status : 'changed', { from, ...(canUndo && { undo }) })
}

export async function writeToPartner(
  visit: Visit,
  operator: StrongOperator,
  form: Submission<typeof forms.writeMessage>,
) {
  const partner = await partnerOf(visit)
  const message = form.values.message.trim()
  const send = (db: Sql) => sendMessage(db, partner, 'brokerage', message, operator.act)
  await makeOnce(visit.context, operator, form, send, () => `/console/partners/${partner.branchId}`)
  return back(visit, operator, partner, 'message')
}

/** A second click finds it answered. */
export async function grantRefresh(
  visit: Visit,
  operator: StrongOperator,
  { values: { reason, from } }: Submission<typeof forms.grantRefresh>,
) {
  const partner = await partnerOf(visit)
  const values = { branchId: partner.branchId }
  return actOrPropose(visit, operator, { kind: 'partner.refresh-access', values, reason }, () =>
    back(visit, operator, partner, 'granted', { from }),
  )
}

export async function withdrawRefresh(
  visit: Visit,
  operator: ReasonedOperator,
  { values: { from } }: Submission<typeof forms.withdrawRefresh>,
) {
  const { db } = visit.context
  const partner = await partnerOf(visit)
  const request = await findRefreshRequest(db, partner)
  if (partner.refreshAccess || isOpen(request)) await withdrawRefreshAccess(db, partner, operator.act)
  const undo = { action: `/console/partners/${partner.branchId}/refresh/grant` }
  const canUndo = !takesTwo(visit, 'partner.refresh-access')
  return back(visit, operator, partner, 'withdrawn', { from, ...(canUndo && { undo }) })
}

export function partnerOf({ context, request }: Visit): Promise<Partner> {
  return getPartner(context.db, String(idOf(paramsOf(request).branch)))
}

export function back(
  visit: Visit,
  operator: Operator,
  { branchId, name }: Partner,
  done: DoneWord,
  way: { readonly undo?: Undo; readonly from?: string | undefined } = {},
) {
  const about = `branch:${branchId}`
  return goBack(visit, operator, {
    path: `/console/partners/${branchId}`,
    about,
    name,
    text: doneWords[done],
    ...way,
  })
}

function isOpen(request: RefreshRequest | undefined): request is RefreshRequest {
  return request !== undefined && request.answeredAt === null
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

function printDecision(partner: Partner, operator: Operator, offers: Offers): Html {
  const { status, branchId } = partner
  const standing = { seen: printSeen(partner) }
  const { label, hint } =
    decisions[status === 'applied' ? 'approve' : status === 'declined' ? 'late' : 'again']
  const approve = () =>
    printOffer(offers, operator, forms.approve, {
      ...{ kind: 'partner.approve', subject: `branch:${branchId}`, label, standing },
      ...{ more: () => html`<p>${hint}</p>`, buttonLook: 'primary' },
    })
  const decline = () =>
    operator.forms.print(
      forms.decline,
      { standing },
      (view) => html`${view.field('reason')}${view.button('Decline', { look: 'danger' })}`,
    )
  const suspend = () =>
    operator.forms.ask(forms.suspend, {
      ...{ standing, label: 'Suspend', of: partner.name },
      text: 'Clients and tokens of a suspended partner are refused at once, and its webhooks are stopped.',
    })
  return html`<section class="card"><h2>Decision</h2>
${status !== 'approved' && approve()}
${status === 'applied' && decline()}
${status === 'approved' && suspend()}</section>`
}

function printRefresh(
  partner: Partner,
  request: RefreshRequest | undefined,
  operator: Operator,
  offers: Offers,
): Html {
  const open = isOpen(request)
  const grant = () =>
    printOffer(offers, operator, forms.grantRefresh, {
      ...{ kind: 'partner.refresh-access', subject: `branch:${partner.branchId}` },
      ...{ label: open ? 'Grant' : 'Grant refresh access', buttonLook: open ? 'primary' : 'plain' },
    })
  const withdraw = (label: string) =>
    operator.forms.ask(forms.withdrawRefresh, {
      label,
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
