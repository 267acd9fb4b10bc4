/**
 * A new account holder, made by an operator. They choose their password by a link; no other person ever knows
 * it.
 */
import type { Sql } from '../../../database/database.ts'
import { sendResetTo } from '../../../users/password-reset.ts'
import { createUser, type User } from '../../../users/user.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, emptyDraft, findProblem, formNotice, textField } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import { crumbs } from '../../frame/parts.ts'
import { makeOnce, onceField } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'
import { loginDependencies } from '../../sign-in/login-dependencies.ts'
import { sendConsole } from '../frame/console.ts'

const names = ['username', 'name', 'email'] as const

export async function showNewUser(visit: Visit, operator: Operator) {
  return send(visit, operator, emptyDraft)
}

export async function createNewUser(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const { context } = visit
  const values = Object.fromEntries(names.map((name) => [name, form.find(name)?.trim() ?? '']))
  const draft = {
    username: values.username!,
    name: values.name!,
    email: values.email!,
    role: 'holder',
    password: undefined,
  } as const
  let isSent = true
  const make = async (db: Sql): Promise<User> => {
    const user = await createUser(db, context.passwords, draft, operator.act)
    isSent = await sendResetTo({ ...loginDependencies(context), db }, user, operator.act)
    return user
  }
  let path = '/console/users'
  const problem = await findProblem(async () => {
    const sent = await makeOnce(context, operator, form, make, ({ id }) => `/console/users/${id}`)
    path = sent.path
  })
  if (problem) return send(visit, operator, { values, problem })
  const link = { path: '/console/users', label: 'All users' }
  return leadToDone(visit, operator, path, {
    text: isSent
      ? 'The user is created. A link to choose their password is on its way.'
      : 'The user is created. No link was sent: holders sign in at your identity provider.',
    link,
  })
}

function send(visit: Visit, operator: Operator, draft: Draft) {
  const plain = html`required maxlength="${fieldLengths['/console/users/create'].username}" autocomplete="off"
    autocapitalize="none" spellcheck="false"`
  return sendConsole(visit, operator, {
    title: 'New user',
    section: '/console/users',
    ...(draft.problem && { status: draft.problem.status }),
    body: html`${crumbs([{ path: '/console/users', label: 'Users' }])}
<h1>New user</h1>
${formNotice(draft, ...names)}
<form class="card" method="post" action="/console/users/create">${csrfField(operator.csrf)}${onceField()}
${textField(draft, { name: 'username', label: 'Username', more: plain, hint: 'What they sign in with: letters, digits and . _ @ + -' })}
${textField(draft, {
  name: 'name',
  label: 'Full name',
  more: html`required
  maxlength="${fieldLengths['/console/users/create'].name}" autocomplete="off"`,
})}
${textField(draft, {
  name: 'email',
  label: 'E-mail address',
  more: html`type="email" required
  maxlength="${fieldLengths['/console/users/create'].email}"
  autocomplete="off"`,
  hint: 'Where the link for their password and every notice goes.',
})}
<button class="primary">Create user</button></form>
<p class="small">Customers of the brokerage come by provisioning and need none of this;
  staff are made on the command line, or come from their identity provider.</p>`,
  })
}
