/** The address that notices go to. Changed only minutes after a sign-in; the address before is told. */

import { findMail, setEmail } from '../../users/email.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { html } from '../frame/html.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

const notices = '/account/security/notices'

export async function submitEmail(
  visit: Visit,
  visitor: StrongUserSession,
  { values }: Submission<typeof forms.setEmail>,
) {
  await setEmail(visit.context.db, visitor.session.user, values.email, visitor.act)
  return leadToDone(visit, visitor, notices, { text: 'Your e-mail address is saved.', link: changeAddress })
}

export async function removeEmail(visit: Visit, visitor: StrongUserSession) {
  await setEmail(visit.context.db, visitor.session.user, undefined, visitor.act)
  const text = 'Your e-mail address is removed. No notices come.'
  return leadToDone(visit, visitor, notices, { text, link: { ...changeAddress, label: 'Give an address' } })
}

const changeAddress = { path: '/account/security/email', label: 'Change it' }

export async function showEmail(visit: Visit, visitor: UserSession) {
  const mail = await findMail(visit.context.db, visitor.session.user.id)
  const now = mail?.email ?? undefined
  return sendAccountPage(visit, visitor, {
    title: 'E-mail address',
    here: '/account/security',
    body: html`<section class="card narrow">
<h1>E-mail address</h1>
<p>Where notices about your account
  go.${now !== undefined && ' The address that you have now is told of the change, and for 30 days of what concerns your password, second factors and tokens.'}</p>
${visitor.forms.print(
  forms.setEmail,
  { standing: { email: now } },
  (view) => html`${view.field('email', { hasFocus: true })}${view.button('Save', { look: 'primary' })}`,
)}
${now !== undefined && visitor.forms.button(forms.removeEmail, 'Remove the address', { buttonLook: 'quiet wide' })}
<p class="small"><a href="${notices}">Back to the notices</a></p>
</section>`,
  })
}
