/**
 * Who acts for the partner, and in which role; owners invite, change roles and remove. The last owner stays.
 */
import type { Sql } from '../../../database/database.ts'
import { inviteMember, resendInvitation, withdrawInvitation } from '../../../partners/invitation.ts'
import { type ListedMember, listMembers, removeMember, setMemberRole } from '../../../partners/partner.ts'
import { memberRoles } from '../../../vocabulary/member-role.ts'
import { roleWords } from '../../../vocabulary/role-words.ts'
import { ignoreAlreadyGone, leadToDone, type Undo } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, sendListFile, whole } from '../../frame/list.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type FreshMember, type Member, memberWatcher } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'
import { printInvitations } from './invitations.ts'

const doneWords = {
  invited: 'The invitation is on its way.',
  resent: 'The invitation is on its way again, with a new link. The one before no longer works.',
  withdrawn: 'The invitation is withdrawn. Its link no longer works.',
  role: 'The role is changed.',
  removed: 'The member is removed.',
}

export async function invite(visit: Visit, member: FreshMember, form: Submission<typeof forms.invite>) {
  const { email, role } = form.values
  const { vault } = visit.context
  const make = (db: Sql) =>
    inviteMember({ db, vault }, member.partner, { email: email.trim(), role }, member.act)
  await makeOnce(visit.context, member, form, make, () => pathOf(member))
  return back(visit, member, 'invited')
}

export async function resend(visit: Visit, member: FreshMember, form: Submission<typeof forms.resend>) {
  const { vault } = visit.context
  const make = (db: Sql) =>
    resendInvitation({ db, vault }, member.partner, form.values.invitation, member.act)
  await makeOnce(visit.context, member, form, make, () => pathOf(member))
  return back(visit, member, 'resent')
}

export async function uninvite(
  visit: Visit,
  member: FreshMember,
  { values }: Submission<typeof forms.uninvite>,
) {
  await withdrawInvitation(visit.context.db, member.partner, values.invitation, member.act)
  return back(visit, member, 'withdrawn')
}

export async function setRole(
  visit: Visit,
  member: FreshMember,
  { values }: Submission<typeof forms.setRole>,
) {
  const chosen = await memberOf(visit, member, values.user)
  if (chosen) await setMemberRole(visit.context.db, member.partner, chosen, values.role, member.act)
  const fields = { user: chosen?.id ?? '', role: chosen?.role ?? '' }
  return back(visit, member, 'role', chosen && { action: `${pathOf(member)}/role`, fields })
}

/** A person who found an open browser must not put the other members out. A second click finds it done. */
export async function remove(visit: Visit, member: FreshMember, { values }: Submission<typeof forms.remove>) {
  const chosen = await memberOf(visit, member, values.user)
  if (chosen) await take(visit, member, chosen)
  return chosen?.id === member.session.user.id ? sayGoodbye(visit, member) : back(visit, member, 'removed')
}

export async function leave(visit: Visit, member: FreshMember) {
  await take(visit, member, member.session.user)
  return sayGoodbye(visit, member)
}

function sayGoodbye(visit: Visit, member: Member) {
  return leadToDone(visit, member, '/partner', {
    text: `You have left ${member.partner.name}.`,
    link: history,
  })
}

function take({ context }: Visit, { partner, act }: Member, chosen: Pick<ListedMember, 'id' | 'username'>) {
  return removeMember(context.db, partner, chosen, act).catch(ignoreAlreadyGone)
}

/** Undefined for a user who is no member any more. */
async function memberOf({ context }: Visit, { partner }: Member, userId: string) {
  return (await listMembers(context.db, partner)).find(({ id }) => id === userId)
}

function pathOf({ home }: Member): string {
  return `${home}/members`
}

const history = { path: '/account/history', label: 'See your history' }

function back(visit: Visit, member: Member, done: keyof typeof doneWords, undo?: Undo) {
  const text = doneWords[done]
  return leadToDone(visit, member, pathOf(member), undo ? { text, undo } : { text, link: history })
}

export async function showMembers(visit: Visit, member: Member) {
  const members = await listMembers(visit.context.db, member.partner)
  if (asksForFile(visit))
    return sendListFile(visit, member, memberWatcher(visit, member), listOf(members, member))
  const owners = members.filter(({ role }) => role === 'owner').length
  return sendPortal(visit, member, {
    title: 'Members',
    section: '/members',
    body: html`<h1>Members</h1>
${printFileLink(pathOf(member))}
<section class="card"><ul
  class="tokens">${members.map((each) => printMember(each, isLast(each, owners), member))}</ul></section>
${member.isOwner && (await printInvitations(visit, member))}
<section class="card"><h2>Roles</h2><dl>${memberRoles.map((role) => html`<dt>${role}</dt><dd>${roleWords[role].text}</dd>`)}</dl>
<p class="small">A personal API token may do what its user may do here, at the moment of each call.
  What each member does is in the brokerage's audit log.</p></section>`,
  })
}

function listOf(members: readonly ListedMember[], { partner }: Member): List<ListedMember> {
  return {
    name: 'members',
    caption: 'Members',
    empty: 'There are no members.',
    recordedAs: `branch:${partner.branchId}`,
    ...whole(members),
    columns: [
      { name: 'Name', text: ({ name }) => name },
      { name: 'Username', text: ({ username }) => username },
      { name: 'Role', text: ({ role }) => role },
      { name: 'Member since (UTC)', text: ({ addedAt }) => addedAt },
    ],
  }
}

/** No other owner could name the next one: it is neither offered to change their role nor to remove them. */
function isLast({ role }: ListedMember, owners: number): boolean {
  return role === 'owner' && owners === 1
}

function printMember(each: ListedMember, isLastOwner: boolean, member: Member): Html {
  const isSelf = each.id === member.session.user.id
  return html`<li><div><strong>${each.name}</strong>
    <span class="faint">${each.username}</span>
    ${badge(each.role === 'owner' ? 'good' : 'off', each.role)}${isSelf && ' (you)'}<br>
<span class="faint">member since
  ${printDate(each.addedAt)}${isLastOwner && member.isOwner && ' · the last owner cannot leave'}</span></div>
${!isLastOwner && printActs(each, isSelf, member)}</li>`
}

function printActs(
  each: ListedMember,
  isSelf: boolean,
  { forms: ofPage, isOwner }: Member,
): Html | undefined {
  if (!isOwner && !isSelf) return undefined
  const label = html`<span class="unseen">Role of ${each.name}</span>`
  const roles = () =>
    ofPage.print(
      forms.setRole,
      { standing: { user: each.id, role: each.role }, look: 'inline' },
      (view) => html`${view.field('role', { label })}${view.button('Change role')}`,
    )
  const text = 'Nothing of the partner is shown from then on. An owner can send another invitation.'
  const removal = () =>
    ofPage.ask(forms.remove, { standing: { user: each.id }, label: 'Remove', of: each.name, text })
  const leaving = () => ofPage.ask(forms.leave, { label: 'Leave', text })
  return html`<div class="acts">${isOwner && roles()}${isSelf ? leaving() : removal()}</div>`
}
