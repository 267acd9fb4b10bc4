/** The people whom the owners invited and who have not answered yet, and the form to invite another. */

import { day } from '../../../clock.ts'
import {
  findInvitationRefusal,
  invitationLifeMs,
  type ListedInvitation,
  listInvitations,
} from '../../../partners/invitation.ts'
import { memberRoles } from '../../../vocabulary/member-role.ts'
import { askFirst } from '../../frame/ask.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { choiceField, type Draft, textField } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import { onceField } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'

const text = 'It can no longer be accepted.'

export async function printInvitations({ context }: Visit, member: Member, draft: Draft): Promise<Html> {
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
${refusal === undefined ? printForm(draft, member) : printRefusal(refusal)}`
}

function printRefusal(refusal: string): Html {
  return html`<section class="card"><h2>Invite somebody</h2><p class="empty">${refusal} Remove a member or
    withdraw an invitation first.</p></section>`
}

function printForm(draft: Draft, { home, csrf }: Member): Html {
  const values = { role: 'developer', ...draft.values }
  const hint = `They get a link that works once, for ${invitationLifeMs / day} days. They sign in with their own account and see the role before they accept.`
  const choices = memberRoles.map((value) => ({ value, label: value }))
  return html`<section class="card"><h2>Invite somebody</h2>
<form method="post" action="${home}/members/invite">${csrfField(csrf)}${onceField()}
${textField(draft, {
  name: 'email',
  label: 'E-mail address',
  hint,
  more: html`type="email" required
  maxlength="${fieldLengths['/partner/:branch/members/invite'].email}" autocapitalize="none"
  spellcheck="false" autocomplete="off"`,
})}
${choiceField({ ...draft, values }, { name: 'role', label: 'Role' }, choices)}
<button class="primary">Send invitation</button></form></section>`
}

function printInvitation(each: ListedInvitation, canResend: boolean, { home, csrf }: Member): Html {
  const { id, email, role, isOpen, invitedBy, sentAt, expiresAt } = each
  const which = html`${csrfField(csrf)}<input type="hidden" name="invitation" value="${id}">`
  return html`<li><div><strong class="address">${email}</strong> ${badge('off', role)}
    ${isOpen ? badge('wait', 'invited') : badge('bad', 'no longer works')}<br>
<span class="faint">sent ${printDate(sentAt)} by ${invitedBy ?? 'the brokerage'} · ${
    isOpen
      ? html`expires
  ${printDate(expiresAt)}`
      : 'it expired, or its sender is no longer an owner'
  }</span></div>
<div class="acts">${
    canResend &&
    html`<form method="post"
  action="${home}/members/resend">${which}${onceField()}<button>Resend<span
  class="unseen"> to ${email}</span></button></form>`
  }
${askFirst({ action: `${home}/members/uninvite`, csrf, fields: { invitation: id }, label: 'Withdraw', of: `the invitation of ${email}`, text })}</div></li>`
}
