/**
 * Somebody new of the staff, made by an operator who gives out their role. They choose their password by a link;
 * no other person ever knows it.
 */
import type { Sql } from '../../../database/database.ts'
import { sendResetTo } from '../../../users/password-reset.ts'
import { getStaffMember, giveRole } from '../../../users/staff-role.ts'
import { createUser, type User } from '../../../users/user.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { crumbs } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'
import { loginDependencies } from '../../sign-in/login-dependencies.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'
import { listGivable, printRoleChoices } from './staff.ts'

const staffPage = '/console/staff'

export async function showNewStaff(visit: Visit, operator: Operator) {
  return sendConsole(visit, operator, {
    title: 'New staff member',
    section: staffPage,
    body: html`${crumbs([{ path: staffPage, label: 'Staff' }])}
<h1>New staff member</h1>
${operator.forms.print(
  forms.createStaff,
  { look: 'card' },
  (view) => html`${view.field('username')}${view.field('name')}${view.field('email')}
${view.field('role', { choices: printRoleChoices(listGivable(operator)) })}${view.field('reason')}
${view.button('Create staff member', { look: 'primary' })}`,
)}
<p class="small">They get a link to choose their password, and set up two-factor at their first sign-in. Staff of
  an identity provider come by themselves and need none of this.</p>`,
  })
}

export async function createNewStaff(
  visit: Visit,
  operator: StrongOperator,
  form: Submission<typeof forms.createStaff>,
) {
  const { context } = visit
  const { username, name, email, role } = form.values
  const named = { username: username.trim(), name: name.trim(), email: email.trim() }
  const draft = { ...named, role: 'operator', password: undefined } as const
  const make = async (db: Sql): Promise<User> => {
    const user = await createUser(db, context.passwords, draft, operator.act)
    await sendResetTo({ ...loginDependencies(context), db }, user, operator.act)
    // Last: whoever chose the address may be the one who comes in, and gives nothing that they lack.
    await giveRole(db, await getStaffMember(db, user.id), role, operator.act)
    return user
  }
  const { path } = await makeOnce(context, operator, form, make, ({ id }) => `${staffPage}/${id}`)
  return leadToDone(visit, operator, path, {
    text: 'The staff member is created. A link to choose their password is on its way.',
    link: { path: staffPage, label: 'All staff' },
  })
}
