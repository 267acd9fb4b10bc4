/**
 * The password page: the old one, the new one twice, and whether applications should be paused along with it.
 */

import { pauseAuthorizationsOf } from '../../oauth/authorization.ts'
import { Conflict, type FieldProblem, Invalid, Problem } from '../../problem.ts'
import { findPasswordProblem } from '../../users/password.ts'
import { changePassword, hasPassword } from '../../users/password-change.ts'
import { setCookie } from '../frame/cookies.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { html } from '../frame/html.ts'
import type { Visit } from '../frame/visit.ts'
import { holderOf, type UserSession } from '../frame/visitor.ts'
import type { FactorSession } from '../gates/gates.ts'
import { readDevice, rememberDevice } from '../sign-in/device-cookie.ts'
import { addressMustWait, loginDependencies, tellCrowded } from '../sign-in/login-dependencies.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

export async function showPassword(visit: Visit, visitor: UserSession) {
  const isThere = await hasPassword(visit.context.db, visitor.session.user.id)
  return isThere ? sendPassword(visit, visitor) : sendNone(visit, visitor)
}

type PasswordForm = Submission<typeof forms.changePassword>

export async function submitPassword(visit: Visit, visitor: FactorSession, { values }: PasswordForm) {
  const { context, request, reply } = visit
  const problems = findProblems(values)
  if (problems.length > 0) throw new Invalid(problems)
  const change = { ...values, device: readDevice(context, request) }
  const holder = holderOf(context, request, visitor)
  const outcome = await changePassword(loginDependencies(context), change, holder, async (sql) => {
    // A second click sends the form again and leaves the first answer unread, and with it the new session:
    // only the second counts.
    if (request.raw.socket.destroyed) throw new Conflict('The form was sent again.')
    if (values.pause) await pauseAuthorizationsOf(sql, visitor.session.user.id, visitor.act)
  }).catch(tellCrowded)
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused':
      throw new Problem(400, 'access_denied', notYourPassword, {
        fields: [{ field: 'current', problem: notYourPassword }],
      })
    case 'changed':
      setCookie(context, reply, 'session', outcome.session.text)
      rememberDevice(context, reply, outcome.device)
      return leadToDone(visit, visitor, '/account/security', {
        text: 'Your password is changed, and you are signed out everywhere else.',
        link: { path: '/account', label: 'Connected applications' },
      })
  }
}

function sendNone(visit: Visit, visitor: UserSession) {
  return sendAccountPage(visit, visitor, {
    title: 'You have no password here',
    here: '/account/security',
    body: html`<section class="card narrow">
<h1>You have no password here</h1>
<p>You sign in at the brokerage's identity provider. Change your password there.</p>
</section>`,
  })
}

const notYourPassword =
  'This is not your password, or there were too many attempts. Check it, or wait a little and try again.'

function findProblems({ current, next, again }: PasswordForm['values']): FieldProblem[] {
  const problem = next === current ? 'must differ from the old one' : findPasswordProblem(next)
  return [
    ...(current === '' ? [{ field: 'current', problem: 'Enter your current password.' }] : []),
    ...(problem === undefined ? [] : [{ field: 'next', problem: `The new password ${problem}.` }]),
    ...(next === again ? [] : [{ field: 'again', problem: 'The new passwords do not match.' }]),
  ]
}

function sendPassword(visit: Visit, visitor: UserSession) {
  return sendAccountPage(visit, visitor, {
    title: 'Change your password',
    here: '/account/security',
    body: html`<section class="card narrow">
<h1>Change your password</h1>
<p>You stay signed in here and are signed out everywhere else.</p>
${visitor.forms.print(
  forms.changePassword,
  {},
  (view) => html`<input type="hidden" name="username" value="${visitor.session.user.username}"
  autocomplete="username">
${view.field('current', { hasFocus: true })}${view.field('next')}${view.field('again')}${view.field('pause')}
${view.button('Change password', { look: 'primary' })}`,
)}
<p class="small">Applications never see your password and keep working after a change,
  and so do your API tokens. If somebody else may have used your account, pause or revoke them.</p>
</section>`,
  })
}
