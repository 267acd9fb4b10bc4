/** The address that notices go to. Changed only minutes after a sign-in; the address before is told. */

import { findMail, setEmail } from '../../users/email.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { findProblem, printField } from '../frame/fields.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { html } from '../frame/html.ts'
import { csrfField } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { sendAccountPage } from './account-page.ts'

const notices = '/account/security/notices'

export async function showEmail(visit: Visit, visitor: UserSession) {
  const mail = await findMail(visit.context.db, visitor.session.user.id)
  return sendEmail(visit, visitor, { now: mail?.email ?? undefined })
}

export async function submitEmail(visit: Visit, visitor: StrongUserSession, form: SubmittedForm) {
  const { context } = visit
  const email = form.find('email') ?? ''
  const { session, act } = visitor
  const problem = await findProblem(() => setEmail(context.db, session.user, email, act))
  if (!problem)
    return leadToDone(visit, visitor, notices, { text: 'Your e-mail address is saved.', link: changeAddress })
  const mail = await findMail(context.db, session.user.id)
  const wrong = `It ${problem.fields?.[0]?.problem ?? 'cannot be saved'}.`
  return sendEmail(visit, visitor, { now: mail?.email ?? undefined, typed: email, problem: wrong })
}

export async function removeEmail(visit: Visit, visitor: StrongUserSession) {
  await setEmail(visit.context.db, visitor.session.user, undefined, visitor.act)
  const text = 'Your e-mail address is removed. No notices come.'
  return leadToDone(visit, visitor, notices, { text, link: { ...changeAddress, label: 'Give an address' } })
}

const changeAddress = { path: '/account/security/email', label: 'Change it' }

interface EmailPage {
  /** The address so far. */
  readonly now: string | undefined
  readonly typed?: string
  readonly problem?: string
}

function sendEmail(visit: Visit, visitor: UserSession, { now, typed, problem }: EmailPage) {
  const csrf = csrfField(visitor.csrf)
  return sendAccountPage(visit, visitor, {
    title: 'E-mail address',
    here: '/account/security',
    status: problem === undefined ? 200 : 400,
    body: html`<section class="card narrow">
<h1>E-mail address</h1>
<p>Where notices about your account
  go.${now !== undefined && ' The address that you have now is told of the change, and for 30 days of what concerns your password, second factors and tokens.'}</p>
<form method="post" action="/account/security/email">
${csrf}${printField({ name: 'email', label: 'E-mail address', type: 'email', value: typed ?? now ?? '', autocomplete: 'email', maxLength: fieldLengths['/account/security/email'].email, hint: 'Whoever reads this mailbox learns when you sign in and what you connect, and can ask for a new password if you have one here.', problem, focused: true })}
<button class="primary">Save</button>
</form>
${
  now !== undefined &&
  html`<form method="post" action="/account/security/email/remove">${csrf}<button
  class="quiet wide">Remove the address</button></form>`
}
<p class="small"><a href="${notices}">Back to the notices</a></p>
</section>`,
  })
}
