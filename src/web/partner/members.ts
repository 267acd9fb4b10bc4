/** Who acts for the partner. Members are equals; the last one stays. */

import type { Database } from '../../database/database.ts'
import { endInvitation, inviteMember, listInvitations } from '../../partners/invitation.ts'
import { listMembers, removeMemberButLast } from '../../partners/partner.ts'
import { askFirst } from '../frame/ask.ts'
import { type Done, leadToDone } from '../frame/done.ts'
import { type Draft, emptyDraft, findProblem, formNotice, textField } from '../frame/fields.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { csrfField, printDate } from '../frame/page.ts'
import { badge } from '../frame/parts.ts'
import { makeOnce, onceField } from '../frame/submission.ts'
import type { Visit } from '../frame/visit.ts'
import type { FreshMember, Member } from '../gates.ts'
import { sendPortal } from './portal.ts'

export function showMembers(visit: Visit, member: Member) {
  return sendMembers(visit, member, emptyDraft)
}

export async function invite(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const username = form.find('username')?.trim() ?? ''
  const make = (db: Database) => inviteMember(db, member.partner, username, member.act)
  const problem = await findProblem(() => makeOnce(visit.context, member, form, make, () => `${member.home}/members`))
  if (problem) return sendMembers(visit, member, { values: { username }, problem })
  const undo = { action: `${member.home}/members/uninvite`, fields: { username } }
  return back(visit, member, { text: `${username} is invited.`, undo })
}

export async function uninvite(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const { db } = visit.context
  const username = form.find('username') ?? ''
  await endInvitation(db, member.partner, username, 'withdrawn', member.act)
  const undo = { action: `${member.home}/members/invite`, fields: { username } }
  return back(visit, member, { text: 'The invitation is withdrawn.', undo })
}

/** Whoever found an open browser must not put the other members out. */
export async function remove(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const { db } = visit.context
  const userId = form.find('user') ?? ''
  const problem = await findProblem(() => removeMemberButLast(db, member.partner, userId, member.act))
  if (problem) return sendMembers(visit, member, { values: {}, problem })
  const link = { path: '/account/history', label: 'See your history' }
  if (userId === member.session.user.id)
    return leadToDone(visit, member, '/partner', { text: `You have left ${member.partner.name}.`, link })
  return back(visit, member, { text: 'The member is removed.', link })
}

function back(visit: Visit, member: Member, done: Done) {
  return leadToDone(visit, member, `${member.home}/members`, done)
}

async function sendMembers(visit: Visit, member: Member, draft: Draft) {
  const { db } = visit.context
  const members = await listMembers(db, member.partner)
  const invitations = await listInvitations(db, member.partner)
  const rows = [
    ...members.map((each) =>
      printRow(html`<strong>${each.name}</strong> ${each.username}`, html`member since ${printDate(each.addedAt)}`, {
        ...{ action: `${member.home}/members/remove`, field: 'user', value: each.id, csrf: member.csrf },
        label: each.id === member.session.user.id ? 'Leave' : 'Remove',
        asks: 'From then on nothing of the partner is shown here. A member can send another invitation.',
      }),
    ),
    ...invitations.map((each) =>
      printRow(html`${each.username} ${badge('wait', 'invited')}`, html`since ${printDate(each.invitedAt)}`, {
        ...{ action: `${member.home}/members/uninvite`, field: 'username', value: each.username, csrf: member.csrf },
        label: 'Withdraw',
        asks: 'They can no longer accept it.',
      }),
    ),
  ]
  return sendPortal(visit, member, {
    title: 'Members',
    section: '/members',
    status: draft.problem?.status ?? 200,
    body: html`<h1>Members</h1>
<p>Every member may do everything here. What each does is in the brokerage's audit log.</p>
${formNotice(draft, 'username')}
<section class="card"><ul class="tokens">${rows}</ul></section>
<section class="card"><h2>Invite somebody</h2>
<form method="post" action="${member.home}/members/invite">${csrfField(member.csrf)}${onceField()}
${textField(draft, { name: 'username', label: 'Username', hint: 'Of their account at the brokerage. They find the invitation under “Partner portal”.', more: html`required maxlength="100" autocapitalize="none" spellcheck="false" autocomplete="off"` })}
<button class="primary">Invite</button></form></section>`,
  })
}

interface RowAct {
  readonly action: string
  readonly field: string
  readonly value: string
  readonly csrf: string
  readonly label: string
  /** What will happen. */
  readonly asks: string
}

function printRow(who: Html, since: Html, { action, field, value, csrf, label, asks }: RowAct): Html {
  return html`<li><div>${who}<br><span class="faint">${since}</span></div>
${askFirst({ action, csrf, fields: { [field]: value }, label, of: value, text: asks })}</li>`
}
