/**
 * The password page: the old one, the new one twice, and whether applications should be paused along with it.
 */

import { pauseAuthorizationsOf } from '../../oauth/authorization.ts'
import { Conflict } from '../../problem.ts'
import { findPasswordProblem, passwordMinCharacters } from '../../users/password.ts'
import { changePassword, hasPassword } from '../../users/password-change.ts'
import { setCookie } from '../frame/cookies.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { printField } from '../frame/fields.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { html } from '../frame/html.ts'
import { csrfField } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import { holderOf, type UserSession } from '../frame/visitor.ts'
import type { FactorSession } from '../gates/gates.ts'
import { readDevice, rememberDevice } from '../sign-in/device-cookie.ts'
import { addressMustWait, loginDependencies, tellCrowded } from '../sign-in/login-dependencies.ts'
import { sendAccountPage } from './account-page.ts'

type Problems = Partial<Record<'current' | 'next' | 'again', string>>

export async function showPassword(visit: Visit, visitor: UserSession) {
  const isThere = await hasPassword(visit.context.db, visitor.session.user.id)
  return isThere ? sendPassword(visit, visitor, {}) : sendNone(visit, visitor)
}

export async function submitPassword(visit: Visit, visitor: FactorSession, form: SubmittedForm) {
  const { context, request, reply } = visit
  const typed = readTyped(form)
  const problems = findProblems(typed)
  if (Object.keys(problems).length > 0) return sendPassword(visit, visitor, problems)
  const change = { ...typed, device: readDevice(context, request) }
  const holder = holderOf(context, request, visitor)
  const outcome = await changePassword(loginDependencies(context), change, holder, async (sql) => {
    // A second click sends the form again and leaves the first answer unread, and with it the new session:
    // only the second counts.
    if (request.raw.socket.destroyed) throw new Conflict('The form was sent again.')
    if (form.find('pause') !== undefined)
      await pauseAuthorizationsOf(sql, visitor.session.user.id, visitor.act)
  }).catch(tellCrowded)
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused':
      request.refusal = 'access_denied'
      return sendPassword(visit, visitor, {
        current:
          'This is not your password, or there were too many attempts. Check it, or wait a little and try again.',
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

function readTyped(form: SubmittedForm) {
  return {
    current: form.find('current') ?? '',
    next: form.find('next') ?? '',
    again: form.find('again') ?? '',
  }
}

function findProblems({ current, next, again }: ReturnType<typeof readTyped>): Problems {
  const problem = next === current ? 'must differ from the old one' : findPasswordProblem(next)
  return {
    ...(current === '' && { current: 'Enter your current password.' }),
    ...(problem !== undefined && { next: `The new password ${problem}.` }),
    ...(next !== again && { again: 'The new passwords do not match.' }),
  }
}

function sendPassword(visit: Visit, visitor: UserSession, problems: Problems) {
  const common = { type: 'password', maxLength: fieldLengths['/account/password'].current } as const
  const wrong = Object.keys(problems)[0]
  return sendAccountPage(visit, visitor, {
    title: 'Change your password',
    here: '/account/security',
    status: wrong === undefined ? 200 : 400,
    body: html`<section class="card narrow">
<h1>Change your password</h1>
<p>You stay signed in here and are signed out everywhere else.</p>
<form method="post" action="/account/password">
${csrfField(visitor.csrf)}<input type="hidden" name="username" value="${visitor.session.user.username}"
  autocomplete="username">
${printField({ ...common, name: 'current', label: 'Current password', autocomplete: 'current-password', problem: problems.current, focused: wrong === undefined || wrong === 'current' })}
${printField({ ...common, name: 'next', label: 'New password', autocomplete: 'new-password', hint: `At least ${passwordMinCharacters} characters, of any kind. Several unrelated words are easy to remember and hard to guess.`, problem: problems.next, focused: wrong === 'next' })}
${printField({ ...common, name: 'again', label: 'New password, again', autocomplete: 'new-password', problem: problems.again, focused: wrong === 'again' })}
<label class="tick"><input type="checkbox" name="pause"
  value="yes"><span>Pause every connected application too, until I resume it</span></label>
<button class="primary">Change password</button>
</form>
<p class="small">Applications never see your password and keep working after a change,
  and so do your API tokens. If somebody else may have used your account, pause or revoke them.</p>
</section>`,
  })
}
