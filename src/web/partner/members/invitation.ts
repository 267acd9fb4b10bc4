/**
 * Behind the link of an invitation: who invites, to what, in which role, before anything is accepted. Opening
 * it does nothing.
 */
import type { Token } from '../../../crypto/token.ts'
import type { Sql } from '../../../database/database.ts'
import { parseLinkToken } from '../../../notices/invitation-link.ts'
import {
  acceptInvitation,
  declineInvitation,
  findInvitation,
  type Invitation,
} from '../../../partners/invitation.ts'
import { listPartnersOf } from '../../../partners/partner.ts'
import { roleWords } from '../../../vocabulary/role-words.ts'
import { ignoreAlreadyGone, leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { printDate } from '../../frame/page.ts'
import { facts } from '../../frame/parts.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import type { UserSession } from '../../frame/visitor.ts'
import { sendEntrance } from '../frame/portal.ts'
import * as forms from './forms.ts'

export async function showInvitation(visit: Visit, visitor: UserSession) {
  const { db, clock } = visit.context
  const token = tokenOf(visit)
  const invitation = token && (await findInvitation(db, token, clock.now()))
  if (!token || !invitation) return sendGone(visit, visitor)
  const partners = await listPartnersOf(db, visitor.session.user.id)
  const isMember = partners.some(({ branchId }) => branchId === invitation.branchId)
  return sendEntrance(visit, visitor, {
    title: `Invitation to ${invitation.partnerName}`,
    body: html`<section class="card narrow"><h1>${invitation.partnerName} invites you</h1>
${isMember ? printMember(invitation) : printQuestion(invitation, visitor, partners.length > 0)}</section>`,
  })
}

/** A second click leads where the first one did. */
export async function accept(visit: Visit, visitor: UserSession, form: Submission<typeof forms.accept>) {
  const { context } = visit
  const token = tokenOf(visit)
  if (!token) return sendGone(visit, visitor)
  const make = (db: Sql) => acceptInvitation(db, token, visitor.session.user, visitor.act)
  try {
    const { path } = await makeOnce(context, visitor, form, make, ({ branchId }) => `/partner/${branchId}`)
    const link = { path: `${path}/members`, label: 'Members' }
    return leadToDone(visit, visitor, path, { text: 'You are a member now.', link })
  } catch (error) {
    ignoreAlreadyGone(error)
    return sendGone(visit, visitor)
  }
}

export async function decline(visit: Visit, visitor: UserSession) {
  const token = tokenOf(visit)
  if (token) await declineInvitation(visit.context.db, token, visitor.act).catch(ignoreAlreadyGone)
  const link = { path: '/account', label: 'My account' }
  return leadToDone(visit, visitor, '/partner', { text: 'The invitation is declined.', link })
}

function tokenOf({ request }: Visit): Token | undefined {
  return parseLinkToken(paramsOf(request).token)
}

/** The same for every reason: a stranger who tries links learns nothing. */
function sendGone(visit: Visit, visitor: UserSession) {
  return sendEntrance(visit, visitor, {
    title: 'This invitation no longer works',
    status: 404,
    body: html`<section class="card narrow"><h1>This invitation no longer works</h1>
<p>It was accepted or declined, was withdrawn or sent again with a new link, or is older than seven days.
  Ask whoever invited you to send it again.</p>
<p><a class="button" href="/partner">Partner portal</a></p></section>`,
  })
}

function printMember({ branchId, partnerName }: Invitation): Html {
  return html`<p>You are a member of ${partnerName} already. The invitation is for somebody else,
    and still counts for them.</p>
<p><a class="button primary" href="/partner/${branchId}">Open ${partnerName}</a></p>`
}

function printQuestion(invitation: Invitation, visitor: UserSession, hasPartner: boolean): Html {
  const { role, invitedBy, expiresAt } = invitation
  const { user } = visitor.session
  return html`${facts([
    ['Your role', html`<strong>${role}</strong><br>${roleWords[role].text}`],
    ['Invited by', invitedBy ?? 'the brokerage'],
    ['Expires', printDate(expiresAt)],
    ['Signed in as', html`${user.name} <span class="faint">${user.username}</span>`],
  ])}
<p class="small">Accepted, the owners see your name and user
  name.${hasPartner && " With more than one partner, programs need a client's credentials instead of your personal token."}</p>
<div class="acts">${visitor.forms.button(forms.accept, 'Accept', { buttonLook: 'primary' })}${visitor.forms.ask(
    forms.decline,
    { label: 'Decline', text: 'The link no longer works then. You can be invited again.' },
  )}</div>`
}
