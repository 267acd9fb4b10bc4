/** What an operator does to a user. Each act changes nothing the second time, and is felt at once: here, and on every node with its commit. */
import { revokeAuthorization } from '../../oauth/authorization.ts'
import { Conflict } from '../../problem.ts'
import { revokeApiToken } from '../../users/api-token.ts'
import { liftLoginWait } from '../../users/login-throttle.ts'
import { hasSecondFactor, resetSecondFactor } from '../../users/second-factor.ts'
import { closeEverySession, closeSessionOf } from '../../users/session.ts'
import { setStatusOfOther, type User } from '../../users/user.ts'
import { ignoreAlreadyGone } from '../frame/done.ts'
import { findProblem } from '../frame/fields.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { idOf, type Visit } from '../frame/visit.ts'
import type { StrongOperator } from '../gates.ts'
import { goBack } from './back.ts'
import { type doneWords, sendUser, throttleKey, userOf } from './user.ts'

export function lockUser(visit: Visit, operator: StrongOperator) {
  return setStatus(visit, operator, 'disabled')
}

export function unlockUser(visit: Visit, operator: StrongOperator) {
  return setStatus(visit, operator, 'active')
}

async function setStatus(visit: Visit, operator: StrongOperator, status: User['status']) {
  const { db } = visit.context
  const { act, session } = operator
  const user = await userOf(visit)
  const problem = await findProblem(() => setStatusOfOther(db, user, status, session.user, act))
  if (problem) return sendUser(visit, operator, user, problem)
  return back(visit, user, status === 'active' ? 'unlocked' : 'locked')
}

export async function closeSession(visit: Visit, { act }: StrongOperator, form: SubmittedForm) {
  const { db } = visit.context
  const user = await userOf(visit)
  await closeSessionOf(db, user, idOf(form.find('session')), act)
  return back(visit, user, 'closed')
}

export async function closeSessions(visit: Visit, { act }: StrongOperator) {
  const { db } = visit.context
  const user = await userOf(visit)
  await closeEverySession(db, user, act)
  return back(visit, user, 'all-closed')
}

export async function revokeToken(visit: Visit, { act }: StrongOperator, form: SubmittedForm) {
  const { db } = visit.context
  const user = await userOf(visit)
  const id = idOf(form.find('token'))
  await revokeApiToken(db, id, user.id, act).catch(ignoreAlreadyGone)
  return back(visit, user, 'revoked')
}

export async function revokeApplication(visit: Visit, { act }: StrongOperator, form: SubmittedForm) {
  const { db } = visit.context
  const user = await userOf(visit)
  const revoked = { id: idOf(form.find('authorization')), ownerId: user.id, reason: 'revoked by the brokerage' }
  await revokeAuthorization(db, revoked, act).catch(ignoreAlreadyGone)
  return back(visit, user, 'ended')
}

/** Makes a password enough to sign in. Never one's own factors: they are changed where they are proven. */
export async function resetFactors(visit: Visit, operator: StrongOperator) {
  const { db } = visit.context
  const { session, act } = operator
  const user = await userOf(visit)
  if (user.id === session.user.id)
    return sendUser(visit, operator, user, new Conflict('Change your own second factors on your security page.'))
  if (await hasSecondFactor(db, user.id)) await resetSecondFactor(db, user, act)
  return back(visit, user, 'reset')
}

export async function liftThrottle(visit: Visit, { act }: StrongOperator) {
  const { db } = visit.context
  const user = await userOf(visit)
  await liftLoginWait(db, user, throttleKey(visit), act)
  return back(visit, user, 'lifted')
}

function back(visit: Visit, { id }: User, done: keyof typeof doneWords) {
  return goBack(visit, { path: `/console/users/${id}`, about: `user:${id}`, done })
}
