/**
 * What an operator does to a user. Each act changes nothing the second time, and is felt at once: here, and
 * on every node with its commit.
 */
import { revokeAuthorization } from '../../../oauth/authorization.ts'
import { Conflict } from '../../../problem.ts'
import { revokeApiToken } from '../../../users/api-token.ts'
import { liftLoginWait } from '../../../users/login-throttle.ts'
import { closeEverySession, closeSessionOf } from '../../../users/session.ts'
import { refuseActingOn } from '../../../users/staff-role.ts'
import { setStatusOfOther, type User } from '../../../users/user.ts'
import { ignoreAlreadyGone, type Undo } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import type { Visit } from '../../frame/visit.ts'
import type { ReasonedOperator, StrongOperator } from '../../gates/gates.ts'
import { goBack } from '../frame/back.ts'
import { actOrPropose } from '../frame/four-eyes.ts'
import type * as forms from './forms.ts'
import { throttleKey, userOf } from './user.ts'

const doneWords = {
  locked: 'The user is locked out. Their sessions ended, and their tokens are refused.',
  unlocked: 'The user may sign in again.',
  closed: 'The session is closed.',
  'all-closed': 'Every session is closed.',
  revoked: 'The token is revoked.',
  ended: 'The access of the application is ended.',
  reset: 'Two-factor is reset, and every session is closed.',
  lifted: 'The user may try to sign in again at once.',
}

export async function targetOf(visit: Visit, operator: StrongOperator): Promise<User> {
  const user = await userOf(visit)
  await refuseActingOn(visit.context.db, user, operator.may)
  return user
}

export async function lockUser(visit: Visit, operator: StrongOperator) {
  const user = await setStatus(visit, operator, 'disabled')
  return back(visit, operator, user, 'locked', { undo: { action: `/console/users/${user.id}/unlock` } })
}

export async function unlockUser(
  visit: Visit,
  operator: StrongOperator,
  { values: { from } }: Submission<typeof forms.unlockUser>,
) {
  const user = await setStatus(visit, operator, 'active')
  return back(visit, operator, user, 'unlocked', { from })
}

async function setStatus(visit: Visit, operator: StrongOperator, status: User['status']): Promise<User> {
  const user = await targetOf(visit, operator)
  await setStatusOfOther(visit.context.db, user, status, operator.act)
  return user
}

export async function closeSession(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.closeSession>,
) {
  const { db } = visit.context
  const user = await targetOf(visit, operator)
  await closeSessionOf(db, user, values.session, operator.act)
  return back(visit, operator, user, 'closed')
}

export async function closeSessions(visit: Visit, operator: StrongOperator) {
  const { db } = visit.context
  const user = await targetOf(visit, operator)
  await closeEverySession(db, user, operator.act)
  return back(visit, operator, user, 'all-closed')
}

export async function revokeToken(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.revokeToken>,
) {
  const { db } = visit.context
  const user = await targetOf(visit, operator)
  await revokeApiToken(db, values.token, user.id, operator.act).catch(ignoreAlreadyGone)
  return back(visit, operator, user, 'revoked')
}

export async function revokeApplication(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.revokeApplication>,
) {
  const { db } = visit.context
  const user = await targetOf(visit, operator)
  const revoked = {
    id: values.authorization,
    ownerId: user.id,
    reason: 'revoked by the brokerage',
  }
  await revokeAuthorization(db, revoked, operator.act).catch(ignoreAlreadyGone)
  return back(visit, operator, user, 'ended')
}

/** Makes a password enough to sign in. Never one's own factors: they are changed where they are proven. */
export async function resetFactors(visit: Visit, operator: ReasonedOperator) {
  const user = await targetOf(visit, operator)
  if (user.id === operator.session.user.id)
    throw new Conflict('Change your own second factors on your security page.')
  const wish = {
    kind: 'user.reset-two-factor',
    values: { userId: user.id },
    reason: operator.act.reason,
  } as const
  return actOrPropose(visit, operator, wish, () => back(visit, operator, user, 'reset'))
}

export async function liftThrottle(
  visit: Visit,
  operator: StrongOperator,
  { values: { from } }: Submission<typeof forms.liftThrottle>,
) {
  const { db } = visit.context
  const user = await targetOf(visit, operator)
  await liftLoginWait(db, user, throttleKey(visit), operator.act)
  return back(visit, operator, user, 'lifted', { from })
}

function back(
  visit: Visit,
  operator: StrongOperator,
  { id, name }: User,
  done: keyof typeof doneWords,
  more: { readonly undo?: Undo; readonly from?: string } = {},
) {
  const about = { path: `/console/users/${id}`, about: `user:${id}`, name }
  return goBack(visit, operator, { ...about, text: doneWords[done], ...more })
}
