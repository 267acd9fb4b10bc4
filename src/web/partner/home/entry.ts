/** The door of the portal: the partners of a visitor, and how to become one. */

import type { Context } from '../../../context.ts'
import type { Sql } from '../../../database/database.ts'
import {
  applyWithDetails,
  listPartnersOf,
  type Partner,
  type PartnerMembership,
} from '../../../partners/partner.ts'
import { mayAct } from '../../../partners/partner-status.ts'
import { roleWords } from '../../../vocabulary/role-words.ts'
import { type BranchFailure, listFailingOf } from '../../../webhooks/health/failing-webhooks.ts'
import { type Draft, emptyDraft, findProblem, formNotice } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import { csrfField } from '../../frame/page.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { UserSession } from '../../frame/visitor.ts'
import { type AnyMember, isServed } from '../../gates/gates.ts'
import { sendEntrance } from '../frame/portal.ts'
import { printTroublesBriefly } from '../webhooks/troubles.ts'
import { sendState } from './application.ts'
import { fieldNames, partnerBadge, printApplicationFields, readApplication } from './application-form.ts'
import { showOverview } from './overview.ts'

/** Of each partner; the others are on its own pages. */
const failingShown = 3

export function showEntry(visit: Visit, visitor: UserSession) {
  return sendEntry(visit, visitor, emptyDraft)
}

export async function submitApplication(visit: Visit, visitor: UserSession, form: SubmittedForm) {
  const { context } = visit
  const values = readApplication(form)
  const apply = (db: Sql) => applyWithDetails(db, visitor.session.user, values, visitor.act)
  const pathOf = ({ branchId }: Partner) => `/partner/${branchId}`
  let result: SubmissionResult<Partner> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(context, visitor, form, apply, pathOf)
  })
  if (problem) return sendEntry(visit, visitor, { values: { ...values }, problem })
  const link = { path: `${result!.path}/messages`, label: 'Messages' }
  return leadToDone(visit, visitor, result!.path, { text: 'Your application is sent.', link })
}

/** The partner's own door: what it may do, or why it may not. */
export async function showPartner(visit: Visit, member: AnyMember) {
  return isServed(member) ? showOverview(visit, member) : sendState(visit, member)
}

async function sendEntry(visit: Visit, visitor: UserSession, draft: Draft) {
  const partners = await listPartnersOf(visit.context.db, visitor.session.user.id)
  const isLive = visit.context.environment === 'live'
  const [only] = partners
  if (only && partners.length === 1 && !draft.problem)
    return visit.reply.redirect(`/partner/${only.branchId}`, 303)
  const failing = await listFailing(visit.context, partners)
  return sendEntrance(visit, visitor, {
    title: 'Partner portal',
    ...(draft.problem && { status: draft.problem.status }),
    body: html`<h1>Partner portal</h1>
${
  partners.length > 0
    ? printPartners(partners, failing)
    : html`<p>Partners build applications on the
  brokerage's interface: account holders approve them, and webhooks tell them what happens.</p>`
}
${isLive ? printApplicationForm(visitor, draft) : printElsewhere(visit.context)}`,
  })
}

/** Of those whose pages open on this site: a link to any other leads to a refusal. */
function listFailing({ db, environment, clock }: Context, partners: readonly PartnerMembership[]) {
  const served = partners.filter(({ status }) => mayAct(status, environment))
  const branchIds = served.map(({ branchId }) => branchId)
  return listFailingOf(db, branchIds, environment, failingShown, clock.now())
}

type FailingByBranch = ReadonlyMap<number, readonly BranchFailure[]>

function printPartners(partners: readonly PartnerMembership[], failing: FailingByBranch): Html {
  const items = partners.map(({ branchId, name, status, role }) => {
    const home = `/partner/${branchId}`
    const troubles = failing.get(branchId)
    return html`<li><div><a href="${home}"><strong>${name}</strong></a><br><span class="faint">Branch
      ${branchId} · you are ${roleWords[role].title}</span>${troubles && printTroublesBriefly(troubles, home)}</div>${partnerBadge(status)}</li>`
  })
  return html`<section class="card"><h2>Your partners</h2><ul class="tokens">${items}</ul></section>`
}

function printElsewhere(context: Context): Html {
  return html`<section class="card"><p>Applications and invitations concern both sites.
    They are on the live one: <a href="${onLiveSite(context, '/partner')}">Partner portal</a>.</p></section>`
}

function printApplicationForm({ csrf }: UserSession, draft: Draft): Html {
  return html`<section class="card">
<h2>Apply as a partner</h2>
<p>The sandbox opens as soon as you apply. The brokerage reads every application before it opens the live
  site; you become its first owner and see the answer here.</p>
${formNotice(draft, ...fieldNames)}
<form method="post" action="/partner/apply">
${csrfField(csrf)}${onceField()}
${printApplicationFields(draft)}
<button class="primary">Apply</button>
</form>
</section>`
}
