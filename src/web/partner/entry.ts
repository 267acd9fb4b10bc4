/** The door of the portal: the partners of a visitor, and how to become one. */

import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import {
  acceptNamedInvitation,
  endNamedInvitation,
  listNamedInvitationsOf,
  type NamedInvitation,
} from '../../partners/named-invitation.ts'
import {
  applyWithDetails,
  getPartner,
  listPartnersOf,
  type Partner,
  type PartnerMembership,
} from '../../partners/partner.ts'
import { mayAct } from '../../partners/partner-status.ts'
import { type FailingOfBranch, listFailingOf } from '../../webhooks/health/failing-webhooks.ts'
import { roleWords } from '../../words/role-words.ts'
import { askFirst } from '../frame/ask.ts'
import { leadToDone } from '../frame/done.ts'
import { type Draft, emptyDraft, findProblem, formNotice } from '../frame/fields.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { onLiveSite } from '../frame/other-site.ts'
import { csrfField } from '../frame/page.ts'
import { makeOnce, onceField, type Sent } from '../frame/submission.ts'
import type { Visit } from '../frame/visit.ts'
import type { SignedIn } from '../frame/visitor.ts'
import { type AnyMember, isServed } from '../gates.ts'
import { sendState } from './application.ts'
import { fieldNames, partnerBadge, printApplicationFields, readApplication } from './application-form.ts'
import { showOverview } from './overview.ts'
import { sendEntrance } from './portal.ts'
import { printTroublesBriefly } from './troubles.ts'

/** Of each partner; the others are on its own pages. */
const failingShown = 3

export function showEntry(visit: Visit, visitor: SignedIn) {
  return sendEntry(visit, visitor, emptyDraft)
}

export async function submitApplication(visit: Visit, visitor: SignedIn, form: SubmittedForm) {
  const { context } = visit
  const values = readApplication(form)
  const apply = (db: Database) => applyWithDetails(db, visitor.session.user, values, visitor.act)
  const pathOf = ({ branchId }: Partner) => `/partner/${branchId}`
  let sent: Sent<Partner> | undefined
  const problem = await findProblem(async () => {
    sent = await makeOnce(context, visitor, form, apply, pathOf)
  })
  if (problem) return sendEntry(visit, visitor, { values: { ...values }, problem })
  const link = { path: `${sent!.path}/messages`, label: 'Messages' }
  return leadToDone(visit, visitor, sent!.path, { text: 'Your application is sent.', link })
}

export function acceptInvited(visit: Visit, visitor: SignedIn, form: SubmittedForm) {
  const { db } = visit.context
  return answerInvitation(visit, visitor, form, async (partner) => {
    await acceptNamedInvitation(db, partner, visitor.session.user, visitor.act)
    const path = `/partner/${partner.branchId}`
    const link = { path: `${path}/members`, label: 'Members' }
    return leadToDone(visit, visitor, path, { text: `You are a member of ${partner.name}.`, link })
  })
}

export function declineInvited(visit: Visit, visitor: SignedIn, form: SubmittedForm) {
  const { db } = visit.context
  return answerInvitation(visit, visitor, form, async (partner) => {
    await endNamedInvitation(db, partner, visitor.session.user.username, 'declined', visitor.act)
    const text = `The invitation of ${partner.name} is declined. It can invite you again.`
    return leadToDone(visit, visitor, '/partner', { text, link: { path: '/account', label: 'My account' } })
  })
}

type Answering = (partner: Partner) => Promise<FastifyReply>

async function answerInvitation({ context, reply }: Visit, visitor: SignedIn, form: SubmittedForm, answer: Answering) {
  const branch = form.find('branch')
  const invitations = await listNamedInvitationsOf(context.db, visitor.session.user, visitor.act.at)
  const invitation = invitations.find(({ branchId }) => String(branchId) === branch)
  if (!invitation) return reply.redirect('/partner', 303)
  return answer(await getPartner(context.db, String(invitation.branchId)))
}

/** The partner's own door: what it may do, or why it may not. */
export async function showPartner(visit: Visit, member: AnyMember) {
  return isServed(member) ? showOverview(visit, member) : sendState(visit, member)
}

async function sendEntry(visit: Visit, visitor: SignedIn, draft: Draft) {
  const partners = await listPartnersOf(visit.context.db, visitor.session.user.id)
  const invitations = await listNamedInvitationsOf(visit.context.db, visitor.session.user, visitor.act.at)
  const isLive = visit.context.environment === 'live'
  const [only] = partners
  const isPlain = partners.length === 1 && (invitations.length === 0 || !isLive) && !draft.problem
  if (only && isPlain) return visit.reply.redirect(`/partner/${only.branchId}`, 303)
  const failing = await listFailing(visit.context, partners)
  return sendEntrance(visit, visitor, {
    title: 'Partner portal',
    ...(draft.problem && { status: draft.problem.status }),
    body: html`<h1>Partner portal</h1>
${isLive && invitations.map((each) => printInvitation(each, visitor))}
${partners.length > 0 ? printPartners(partners, failing) : html`<p>Partners build applications on the brokerage's interface: account holders approve them, and webhooks tell them what happens.</p>`}
${isLive ? printApplicationForm(visitor, draft) : printElsewhere(visit.context)}`,
  })
}

/** Of those whose pages open on this site: a link to any other leads to a refusal. */
function listFailing({ db, environment, clock }: Context, partners: readonly PartnerMembership[]) {
  const served = partners.filter(({ status }) => mayAct(status, environment))
  const branchIds = served.map(({ branchId }) => branchId)
  return listFailingOf(db, branchIds, environment, failingShown, clock.now())
}

type Failing = ReadonlyMap<number, readonly FailingOfBranch[]>

function printPartners(partners: readonly PartnerMembership[], failing: Failing): Html {
  const items = partners.map(({ branchId, name, status, role }) => {
    const home = `/partner/${branchId}`
    const troubles = failing.get(branchId)
    return html`<li><div><a href="${home}"><strong>${name}</strong></a><br><span class="faint">Branch ${branchId} · you are ${roleWords[role].title}</span>${troubles && printTroublesBriefly(troubles, home)}</div>${partnerBadge(status)}</li>`
  })
  return html`<section class="card"><h2>Your partners</h2><ul class="tokens">${items}</ul></section>`
}

function printInvitation({ branchId, partnerName }: NamedInvitation, { csrf }: SignedIn): Html {
  const act = (action: string, label: string, kind: string) =>
    html`<form method="post" action="/partner/${action}">${csrfField(csrf)}<input type="hidden" name="branch" value="${branchId}"><button class="${kind}">${label}</button></form>`
  return html`<section class="card created"><h2>${partnerName} invites you</h2>
<p>You join as a viewer, who sees everything and changes nothing; an owner can give you more. With more than one partner, programs need a client's credentials instead of your personal token.</p>
<div class="acts">${act('accept', 'Accept', 'primary')}${askFirst({ action: '/partner/decline', csrf, fields: { branch: branchId }, label: 'Decline', of: `the invitation of ${partnerName}`, text: 'You can be invited again.' })}</div></section>`
}

function printElsewhere(context: Context): Html {
  return html`<section class="card"><p>Applications and invitations concern both sites. They are on the live one: <a href="${onLiveSite(context, '/partner')}">Partner portal</a>.</p></section>`
}

function printApplicationForm({ csrf }: SignedIn, draft: Draft): Html {
  return html`<section class="card">
<h2>Apply as a partner</h2>
<p>The sandbox opens as soon as you apply. The brokerage reads every application before it opens the live site; you become its first owner and see the answer here.</p>
${formNotice(draft, ...fieldNames)}
<form method="post" action="/partner/apply">
${csrfField(csrf)}${onceField()}
${printApplicationFields(draft)}
<button class="primary">Apply</button>
</form>
</section>`
}
