/** Security: how the account is guarded, and the way to each of it. */
import { findMail } from '../../users/email.ts'
import type { Passkey } from '../../users/passkey.ts'
import { hasPassword } from '../../users/password-change.ts'
import { findSecondFactors, isGuarded, type SecondFactors } from '../../users/second-factor.ts'
import { printDone } from '../frame/flash-message.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { passkeySite } from '../sign-in/passkey-form.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

const here = '/account/security'

const doneWords = {
  'codes-before':
    'This form was sent before. The recovery codes that it made were shown once. If you did not keep them, make new ones.',
}

export async function showSecurity(visit: Visit, visitor: UserSession) {
  const { context } = visit
  const mail = await findMail(context.db, visitor.session.user.id)
  const factors = await findSecondFactors(context.db, visitor.session.user.id)
  const isWithPassword = await hasPassword(context.db, visitor.session.user.id)
  return sendAccountPage(visit, visitor, {
    title: 'Security',
    here,
    body: html`<h1>Security</h1>
${printDone(visit, doneWords)}
<section class="card">
<h2>Password</h2>
${
  isWithPassword
    ? html`<p>A change signs you out everywhere else.</p>
<p><a class="button" href="/account/password">Change password</a></p>`
    : html`<p>You have none here: you sign in at your brokerage’s identity provider.</p>`
}
</section>
<section class="card">
<h2>Two-factor sign-in <span class="badge${
      !isGuarded(factors) &&
      html`
  off`
    }">${isGuarded(factors) ? 'on' : 'off'}</span></h2>
<p>${isGuarded(factors) ? 'Signing in takes a second factor.' : 'With a second factor, somebody who learns your password still cannot sign in.'}</p>
<ul class="tokens">
${printApp(factors, visitor)}
${factors.passkeys.map((each) => printPasskey(each, visitor))}
${passkeySite(context) && html`<li><div><strong>${factors.passkeys.length > 0 ? 'Another passkey' : 'Passkey'}</strong><br><span class="faint">Kept by your device, your password manager or a security key; with JavaScript only</span></div><a class="button" href="/account/security/passkey">Add<span class="unseen"> a passkey</span></a></li>`}
${isGuarded(factors) && printRecovery(factors, visitor)}
</ul>
</section>
<section class="card">
<h2>E-mail notices</h2>
<p>${
      mail?.email
        ? html`You are told at
  <strong class="address">${mail.email}</strong> when something happens that you should know
  of.`
        : 'You are told nothing by e-mail: there is no address to write to.'
    }</p>
<p><a class="button" href="/account/security/notices">${mail?.email ? 'Address and notices' : 'Give an address'}</a></p>
</section>`,
  })
}

const removing =
  'It no longer proves that it is you. Without any second factor, your password alone is enough to sign in.'

function printApp({ totp }: SecondFactors, visitor: UserSession): Html {
  if (!totp) {
    return html`<li><div><strong>Authenticator app</strong><br><span class="faint">A code from an app on your
      phone</span></div><a class="button" href="/account/security/app">Set up<span class="unseen"> an
      authenticator app</span></a></li>`
  }
  const lastUse = totp.lastUsedAt ? printDate(totp.lastUsedAt) : 'never'
  return html`<li><div><strong>Authenticator app</strong><br><span class="faint">set up
    ${printDate(totp.createdAt)} · last used ${lastUse}${
      totp.lockedAt !== null &&
      html` · locked after a
    hundred wrong codes ${printDate(totp.lockedAt)}; a recovery code unlocks it`
    }</span></div>
${visitor.forms.ask(forms.removeApp, { label: 'Remove', of: 'the authenticator app', text: removing })}</li>`
}

function printPasskey(each: Passkey, visitor: UserSession): Html {
  const lastUse = each.lastUsedAt ? printDate(each.lastUsedAt) : 'never'
  return html`<li><div><strong>${each.name}</strong>
    <span class="badge">Passkey</span> ${
      each.environment === 'sandbox' &&
      html`<span
    class="badge sandbox">Sandbox</span>`
    }<br><span class="faint">added ${printDate(each.createdAt)} · last
    used ${lastUse}</span></div>
${visitor.forms.ask(forms.removePasskey, {
  ...{ standing: { passkey: each.id }, label: 'Remove', of: `the passkey ${each.name}`, text: removing },
})}</li>`
}

function printRecovery({ recoveryCodes }: SecondFactors, visitor: UserSession): Html {
  const left =
    recoveryCodes === 1 ? 'One is left' : `${recoveryCodes === 0 ? 'None' : recoveryCodes} are left`
  return html`<li><div><strong>Recovery codes</strong><br><span class="faint">${left}.
    New ones replace all that there are.</span></div>
${visitor.forms.button(forms.makeRecoveryCodes, 'Make new ones', { of: '(recovery codes)' })}</li>`
}
