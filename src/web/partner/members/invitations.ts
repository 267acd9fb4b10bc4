/** The people whom the owners invited and who have not answered yet, and the form to invite another. */

import { day } from '../../../clock.ts'
import {
  findInvitationRefusal,
  invitationLifeMs,
  type ListedInvitation,
  listInvitations,
} from '../../../partners/invitation.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import * as forms from './forms.ts'

const text = 'It can no longer be accepted.'

export async function printInvitations({ context }: Visit, member: Member): Promise<Html> {
  const invitations = await listInvitations(context.db, member.partner, context.clock.now())
  const refusal = await findInvitationRefusal(context.db, member.partner, context.clock.now())
  // One that is open is counted already.
  const canResend = ({ isOpen }: ListedInvitation) => isOpen || refusal === undefined
  const rows = invitations.map((each) => printInvitation(each, canResend(each), member))
  return html`${
    rows.length > 0 &&
    html`<section class="card"><h2>Invitations</h2><ul
    class="tokens">${rows}</ul></section>`
  }
${refusal === undefined ? printForm(member) : printRefusal(refusal)}`
}

function printRefusal(refusal: string): Html {
  return html`<section class="card"><h2>Invite somebody</h2><p class="empty">${refusal} Remove a member or
    withdraw an invitation first.</p></section>`
}

function printForm(member: Member): Html {
  const hint = `They get a link that works once, for ${invitationLifeMs / day} days. They see the role, and sign in with their own account or get one.`
  return html`<section class="card"><h2>Invite somebody</h2>
${member.forms.print(
  forms.invite,
  { standing: { role: 'developer' } },
  (view) => html`${view.field('email', { hint })}${view.field('role')}
${view.button('Send invitation', { look: 'primary' })}`,
)}</section>`
}

function printInvitation(each: ListedInvitation, canResend: boolean, member: Member): Html {
  const { id, email, role, isOpen, invitedBy, sentAt, expiresAt } = each
  const standing = { invitation: id }
  return html`<li><div><strong class="address">${email}</strong> ${badge('off', role)}
    ${isOpen ? badge('wait', 'invited') : badge('bad', 'no longer works')}<br>
<span class="faint">sent ${printDate(sentAt)} by ${invitedBy ?? 'the brokerage'} · ${
    isOpen
      ? html`expires
  ${printDate(expiresAt)}`
      : 'it expired, or its sender is no longer an owner'
  }</span></div>
<div class="acts">${canResend && member.forms.button(forms.resend, 'Resend', { standing, of: `to ${email}` })}
${member.forms.ask(forms.uninvite, { standing, label: 'Withdraw', of: `the invitation of ${email}`, text })}</div></li>`
}
