/** Who of the staff has which role, and from where; given and taken with a reason. */

import type { Sql } from '../../../database/database.ts'
import { listProviders } from '../../../identity/provider.ts'
import { Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import {
  getStaffMember,
  giveRole as give,
  type HeldRole,
  listStaff,
  type StaffMember,
  takeRole as take,
} from '../../../users/staff-role.ts'
import { findStaffRole, type StaffRole, staffRoles } from '../../../vocabulary/permission.ts'
import { staffRoleWords } from '../../../vocabulary/staff-role-words.ts'
import type { Submission } from '../../frame/form.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, plain, printList, sendListFile, whole } from '../../frame/list.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type StrongOperator } from '../../gates/gates.ts'
import { goBack } from '../frame/back.ts'
import { linkTo, sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'

const here = '/console/staff'

export async function showStaff(visit: Visit, operator: Operator) {
  const members = await listStaff(visit.context.db)
  const list = listOf(members, await readLabels(visit.context.db))
  if (asksForFile(visit)) return sendListFile(visit, operator, operatorWatcher(visit, operator), list)
  const roles = staffRoles.map(
    (role) => html`<dt>${staffRoleWords[role].title}</dt><dd>${staffRoleWords[role].text}</dd>`,
  )
  return sendConsole(visit, operator, {
    title: 'Staff',
    section: here,
    body: html`<h1>Staff</h1>
${listGivable(operator).length > 0 && html`<p><a class="button" href="${here}/new">New staff member</a></p>`}
${printFileLink(here)}
${printList(list, members)}
<section class="card"><h2>What each role may do</h2><dl>${roles}</dl>
<p class="small">Whoever has several may do what any of them may. Roles from an identity provider are set anew
  at each sign-in; those given by hand stay until somebody takes them.</p></section>`,
  })
}

function listOf(members: readonly StaffMember[], labels: Labels): List<StaffMember> {
  const nameRole = ({ role, source }: HeldRole) =>
    `${staffRoleWords[role].title} ${printSource(source, labels)}`
  const printRole = ({ role, source }: HeldRole) =>
    html`${staffRoleWords[role].title} <span class="faint">${printSource(source, labels)}</span><br>`
  return {
    name: 'staff',
    caption: 'Staff',
    empty: 'Nobody is of the staff.',
    recordedAs: 'list:staff',
    ...whole(members),
    columns: [
      {
        name: 'Name',
        cell: ({ id, name }) => html`<a href="${here}/${id}">${name}</a>`,
        text: ({ name }) => name,
      },
      plain('Username', ({ username }) => username),
      {
        name: 'Roles',
        cell: ({ roles }) => (roles.length === 0 ? badge('off', 'no role') : html`${roles.map(printRole)}`),
        text: ({ roles }) => roles.map(nameRole).join('; '),
      },
      {
        name: 'Two-factor',
        cell: ({ isGuarded }) => (isGuarded ? badge('good', 'on') : badge('off', 'off')),
        text: ({ isGuarded }) => (isGuarded ? 'on' : 'off'),
      },
      {
        name: 'State',
        cell: ({ status }) => (status === 'active' ? badge('good', 'active') : badge('bad', 'locked')),
        text: ({ status }) => (status === 'active' ? 'active' : 'locked'),
      },
    ],
  }
}

/** What people call the providers that roles come from, by the source of the role. */
type Labels = ReadonlyMap<string, string>

async function readLabels(sql: Sql): Promise<Labels> {
  return new Map((await listProviders(sql)).map(({ id, label }) => [`provider:${id}`, label]))
}

function printSource(source: string, labels: Labels): string {
  return source === 'hand' ? 'by hand' : `from ${labels.get(source) ?? 'a provider that was removed'}`
}

function memberOf({ context, request }: Visit): Promise<StaffMember> {
  return getStaffMember(context.db, cut(paramsOf(request).id ?? '', 100))
}

export async function showRoles(visit: Visit, operator: Operator) {
  const member = await memberOf(visit)
  const { id, name, roles } = member
  const labels = await readLabels(visit.context.db)
  return sendConsole(visit, operator, {
    title: `Roles of ${name}`,
    section: here,
    body: html`${crumbs([{ path: here, label: 'Staff' }])}
<h1>Roles of ${name}</h1>
<p>${linkTo(operator, `/console/users/${id}`, 'Access, sessions, two-factor')}</p>
<section class="card"><h2>Roles</h2>
${
  roles.length === 0
    ? html`<p class="empty">None: the console is closed to them.</p>`
    : html`<ul
  class="tokens">${roles.map((each) => printHeld(each, labels, operator))}</ul>`
}</section>
${printGiving(member, operator)}`,
  })
}

function printHeld({ role, source, givenAt }: HeldRole, labels: Labels, operator: Operator): Html {
  const { title, text } = staffRoleWords[role]
  return html`<li><div><strong>${title}</strong><br><span class="faint">${text} ·
    ${printSource(source, labels)}, ${printDate(givenAt)}</span></div>
${
  source === 'hand' &&
  mayChange(operator, role) &&
  operator.forms.ask(forms.takeRole, {
    ...{ standing: { role }, label: 'Remove', of: title },
    text: 'It takes effect with their next click.',
  })
}</li>`
}

/** Only an administrator makes administrators, or takes that from one. */
function mayChange({ may }: Operator, role: StaffRole): boolean {
  return may('staff.manage') && (role !== 'administrator' || may('administrators.manage'))
}

export function listGivable(operator: Operator): StaffRole[] {
  return staffRoles.filter((role) => mayChange(operator, role))
}

export function printRoleChoices(roles: readonly StaffRole[]) {
  return roles.map((value) => ({
    value,
    label: `${staffRoleWords[value].title}: ${staffRoleWords[value].text}`,
  }))
}

function printGiving({ id, roles }: StaffMember, operator: Operator): Content {
  const held = roles.filter(({ source }) => source === 'hand').map(({ role }) => role)
  const offered = listGivable(operator).filter((role) => !held.includes(role))
  if (offered.length === 0) return undefined
  if (id === operator.session.user.id)
    return html`<p class="small">Nobody gives themselves a role: ask another administrator or security
      officer.</p>`
  const choices = printRoleChoices(offered)
  const asked = { label: 'Give role', text: 'It takes effect with their next click.', isGift: true } as const
  return html`<section class="card"><h2>Give a role</h2>${operator.forms.ask(
    forms.giveRole,
    asked,
    (view) => html`${view.field('role', { choices })}${view.field('reason')}`,
  )}</section>`
}

const words = { given: 'The role is given.', taken: 'The role is removed.' }

export function giveRole(
  visit: Visit,
  operator: StrongOperator,
  { values: { role } }: Submission<typeof forms.giveRole>,
) {
  return change(visit, operator, { role, by: give, text: words.given, back: 'take' })
}

export async function takeRole(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.takeRole>,
) {
  const role = findStaffRole(values.role)
  if (!role) throw new Invalid([{ field: 'role', problem: `must be one of ${staffRoles.join(', ')}` }])
  return change(visit, operator, { role, by: take, text: words.taken, back: 'give' })
}

interface Change {
  readonly role: StaffRole
  readonly by: typeof give
  readonly text: string
  /** The form that does the opposite. */
  readonly back: 'give' | 'take'
}

async function change(visit: Visit, operator: StrongOperator, { role, by, text, back }: Change) {
  const member = await memberOf(visit)
  await by(visit.context.db, member, role, operator.act)
  const path = `${here}/${member.id}`
  // No operator gives themselves back what they gave up.
  const isOwn = back === 'give' && member.id === operator.session.user.id
  const undo = isOwn ? undefined : { action: `${path}/${back}`, fields: { role, reason: 'Undone.' } }
  return goBack(visit, operator, { path, about: `user:${member.id}`, name: member.name, text, undo })
}
