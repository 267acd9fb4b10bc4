/**
 * Behind the link of an invitation: who invites, to what, in which role, before anything is accepted. Opening
 * it does nothing.
 */
import type { Sql } from '../../../database/database.ts'
import { acceptInvitation, declineInvitation, type Invitation } from '../../../partners/invitation.ts'
import { listPartnersOf } from '../../../partners/partner.ts'
import { ignoreAlreadyGone, leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import type { Visit } from '../../frame/visit.ts'
import type { UserSession } from '../../frame/visitor.ts'
import { sendEntrance } from '../frame/portal.ts'
import * as forms from './forms.ts'
import { openInvitation, printTerms, sendGone, tokenOf } from './invitation-parts.ts'
import { showJoining } from './joining.ts'

export async function showInvitation(visit: Visit, visitor: UserSession | undefined) {
  const invitation = await openInvitation(visit)
  if (!invitation) return sendGone(visit, visitor)
  if (!visitor) return showJoining(visit, invitation)
  const { db } = visit.context
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

function printMember({ branchId, partnerName }: Invitation): Html {
  return html`<p>You are a member of ${partnerName} already. The invitation is for somebody else,
    and still counts for them.</p>
<p><a class="button primary" href="/partner/${branchId}">Open ${partnerName}</a></p>`
}

function printQuestion(invitation: Invitation, visitor: UserSession, hasPartner: boolean): Html {
  const { user } = visitor.session
  return html`${printTerms(invitation, [
    ['Signed in as', html`${user.name} <span class="faint">${user.username}</span>`],
  ])}
<p class="small">Accepted, the owners see your name and user
  name.${hasPartner && " With more than one partner, programs need a client's credentials instead of your personal token."}</p>
<div class="acts">${visitor.forms.button(forms.accept, 'Accept', { buttonLook: 'primary' })}${visitor.forms.ask(
    forms.decline,
    { label: 'Decline', text: 'The link no longer works then. You can be invited again.' },
  )}</div>`
}
