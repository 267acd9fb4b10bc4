/**
 * A new account holder, made by an operator. They choose their password by a link; no other person ever knows
 * it.
 */
import type { Sql } from '../../../database/database.ts'
import { sendResetTo } from '../../../users/password-reset.ts'
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

export async function showNewUser(visit: Visit, operator: Operator) {
  return sendConsole(visit, operator, {
    title: 'New user',
    section: '/console/users',
    body: html`${crumbs([{ path: '/console/users', label: 'Users' }])}
<h1>New user</h1>
${operator.forms.print(
  forms.createUser,
  { look: 'card' },
  (view) => html`${view.field('username')}${view.field('name')}${view.field('email')}
${view.button('Create user', { look: 'primary' })}`,
)}
<p class="small">Customers of the brokerage come by provisioning and need none of this${
      operator.may('staff.manage') && html`; <a href="/console/staff/new">staff</a> are made with their role`
    }.</p>`,
  })
}

export async function createNewUser(
  visit: Visit,
  operator: StrongOperator,
  form: Submission<typeof forms.createUser>,
) {
  const { context } = visit
  const { username, name, email } = form.values
  const named = { username: username.trim(), name: name.trim(), email: email.trim() }
  const draft = { ...named, role: 'holder', password: undefined } as const
  let isSent = true
  const make = async (db: Sql): Promise<User> => {
    const user = await createUser(db, context.passwords, draft, operator.act)
    isSent = await sendResetTo({ ...loginDependencies(context), db }, user, operator.act)
    return user
  }
  const { path } = await makeOnce(context, operator, form, make, ({ id }) => `/console/users/${id}`)
  const link = { path: '/console/users', label: 'All users' }
  return leadToDone(visit, operator, path, {
    text: isSent
      ? 'The user is created. A link to choose their password is on its way.'
      : 'The user is created. No link was sent: holders sign in at your identity provider.',
    link,
  })
}
