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
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import type { Visit } from '../../frame/visit.ts'
import type { UserSession } from '../../frame/visitor.ts'
import { type AnyMember, isServed } from '../../gates/gates.ts'
import { sendEntrance } from '../frame/portal.ts'
import { printTroublesBriefly } from '../webhooks/troubles.ts'
import { sendState } from './application.ts'
import { partnerBadge, printApplicationFields, readApplication } from './application-form.ts'
import * as forms from './forms.ts'
import { showOverview } from './overview.ts'
import { sendStranger } from './stranger.ts'

/** Of each partner; the others are on its own pages. */
const failingShown = 3

export async function submitApplication(
  visit: Visit,
  visitor: UserSession,
  form: Submission<typeof forms.apply>,
) {
  const apply = (db: Sql) => applyWithDetails(db, visitor.session.user, readApplication(form), visitor.act)
  const pathOf = ({ branchId }: Partner) => `/partner/${branchId}`
  const { path } = await makeOnce(visit.context, visitor, form, apply, pathOf)
  const link = { path: `${path}/messages`, label: 'Messages' }
  return leadToDone(visit, visitor, path, { text: 'Your application is sent.', link })
}

/** The partner's own door: what it may do, or why it may not. */
export async function showPartner(visit: Visit, member: AnyMember) {
  return isServed(member) ? showOverview(visit, member) : sendState(visit, member)
}

export async function showEntry(visit: Visit, visitor: UserSession | undefined) {
  if (!visitor) return sendStranger(visit)
  const partners = await listPartnersOf(visit.context.db, visitor.session.user.id)
  const isLive = visit.context.environment === 'live'
  const [only] = partners
  if (only && partners.length === 1 && !visitor.forms.isReturned)
    return visit.reply.redirect(`/partner/${only.branchId}`, 303)
  const failing = await listFailing(visit.context, partners)
  return sendEntrance(visit, visitor, {
    title: 'Partner portal',
    body: html`<h1>Partner portal</h1>
${
  partners.length > 0
    ? printPartners(partners, failing)
    : html`<p>Partners build applications on the
  brokerage's interface: account holders approve them, and webhooks tell them what happens.</p>`
}
${isLive ? printApplicationForm(visitor) : printElsewhere(visit.context)}`,
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

function printApplicationForm(visitor: UserSession): Html {
  return html`<section class="card">
<h2>Apply as a partner</h2>
<p>The sandbox opens as soon as you apply. The brokerage reads every application before it opens the live
  site; you become its first owner and see the answer here.</p>
${visitor.forms.print(
  forms.apply,
  {},
  (view) => html`${printApplicationFields(view)}${view.button('Apply', { look: 'primary' })}`,
)}
</section>`
}
