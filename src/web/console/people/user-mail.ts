/** What an operator does about a user's address and password, and says why. The address of before is told. */
import { Conflict } from '../../../problem.ts'
import { setEmail } from '../../../users/email.ts'
import { sendResetTo } from '../../../users/password-reset.ts'
import { findProblem } from '../../frame/fields.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import type { Visit } from '../../frame/visit.ts'
import type { StrongOperator } from '../../gates/gates.ts'
import { loginDependencies } from '../../sign-in/login-dependencies.ts'
import { goBack } from '../frame/back.ts'
import { sendUser } from './user.ts'
import { targetOf } from './user-acts.ts'

export async function changeEmail(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const user = await targetOf(visit, operator)
  const problem = await findProblem(() =>
    setEmail(visit.context.db, user, form.find('email')?.trim() ?? '', operator.act),
  )
  if (problem) return sendUser(visit, operator, user, problem)
  return back(visit, operator, user, 'The e-mail address is changed, and the one before was told.')
}

/** From here it would also make a password for a user who has none, and signs in at a provider. */
const notToOneself = 'You cannot send a password reset to yourself. Ask another administrator.'

export async function sendReset(visit: Visit, operator: StrongOperator) {
  const user = await targetOf(visit, operator)
  if (user.id === operator.session.user.id) return sendUser(visit, operator, user, new Conflict(notToOneself))
  let isSent = false
  const problem = await findProblem(async () => {
    isSent = await sendResetTo(loginDependencies(visit.context), user, operator.act)
  })
  if (problem) return sendUser(visit, operator, user, problem)
  if (isSent) return back(visit, operator, user, 'A link for a new password is on its way.')
  const why =
    'No link was sent: they have no e-mail address, are locked, sign in at a provider, or got too many today.'
  return sendUser(visit, operator, user, new Conflict(why))
}

function back(
  visit: Visit,
  operator: StrongOperator,
  { id, name }: { id: string; name: string },
  text: string,
) {
  return goBack(visit, operator, { path: `/console/users/${id}`, about: `user:${id}`, name, text })
}
