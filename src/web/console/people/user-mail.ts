/** What an operator does about a user's address and password, and says why. The address of before is told. */
import { Conflict } from '../../../problem.ts'
import { setEmail } from '../../../users/email.ts'
import { sendResetTo } from '../../../users/password-reset.ts'
import type { Submission } from '../../frame/form.ts'
import type { Visit } from '../../frame/visit.ts'
import type { StrongOperator } from '../../gates/gates.ts'
import { loginDependencies } from '../../sign-in/login-dependencies.ts'
import { goBack } from '../frame/back.ts'
import type * as forms from './forms.ts'
import { targetOf } from './user-acts.ts'

export async function changeEmail(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.changeEmail>,
) {
  const user = await targetOf(visit, operator)
  await setEmail(visit.context.db, user, values.email.trim(), operator.act)
  return back(visit, operator, user, 'The e-mail address is changed, and the one before was told.')
}

/** From here it would also make a password for a user who has none, and signs in at a provider. */
const notToOneself = 'You cannot send a password reset to yourself. Ask another administrator.'

export async function sendReset(visit: Visit, operator: StrongOperator) {
  const user = await targetOf(visit, operator)
  if (user.id === operator.session.user.id) throw new Conflict(notToOneself)
  if (await sendResetTo(loginDependencies(visit.context), user, operator.act))
    return back(visit, operator, user, 'A link for a new password is on its way.')
  throw new Conflict(
    'No link was sent: they have no e-mail address, are locked, sign in at a provider, or got too many today.',
  )
}

function back(
  visit: Visit,
  operator: StrongOperator,
  { id, name }: { id: string; name: string },
  text: string,
) {
  return goBack(visit, operator, { path: `/console/users/${id}`, about: `user:${id}`, name, text })
}
