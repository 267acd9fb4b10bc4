/** Sign-ins and devices: where the account is open at this moment, and how to close it there. */
import { closeOtherSessions, closeSessionOf, listSessions, type SignedInDevice } from '../../users/session.ts'
import { deviceWords } from '../../vocabulary/device-words.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

const here = '/account/devices'

export async function showDevices(visit: Visit, visitor: UserSession) {
  const { context } = visit
  const all = await listSessions(context.db, visitor.session.user.id, context.clock.now())
  const own = all.filter(({ id }) => id === visitor.session.id)
  const others = all.filter(({ id }) => id !== visitor.session.id)
  return sendAccountPage(visit, visitor, {
    title: 'Sign-ins and devices',
    here,
    body: html`<h1>Sign-ins and devices</h1>
<p>Where you are signed in now, on the live site and in the sandbox. A sign-in ends by itself after 30 minutes
  without use. If you do not recognise one, sign it out and
  <a href="/account/password">change your password</a>.</p>
<section class="card">
<h2>This device</h2>
<ul class="tokens">${own.map((each) => printDevice(each, undefined))}</ul>
</section>
<section class="card">
<h2>Other devices</h2>
${
  others.length === 0
    ? html`<p class="empty">You are signed in nowhere
  else.</p>`
    : printOthers(others, visitor)
}
</section>`,
  })
}

/** A holder who does not recognise the device does this next. */
const ifUnknown = { path: '/account/password', label: 'Change your password' }

export async function closeDevice(
  visit: Visit,
  visitor: UserSession,
  { values }: Submission<typeof forms.closeDevice>,
) {
  await closeSessionOf(visit.context.db, visitor.session.user, values.session, visitor.act)
  return leadToDone(visit, visitor, here, { text: 'That device is signed out.', link: ifUnknown })
}

export async function closeOtherDevices(visit: Visit, visitor: UserSession) {
  const { context } = visit
  await closeOtherSessions(context.db, visitor.session, visitor.act)
  return leadToDone(visit, visitor, here, { text: 'You are signed out everywhere else.', link: ifUnknown })
}

function printOthers(others: readonly SignedInDevice[], visitor: UserSession): Html {
  return html`<ul class="tokens">${others.map((each) => printDevice(each, visitor))}</ul>
${visitor.forms.button(forms.closeOtherDevices, 'Sign out everywhere else', { buttonLook: 'danger' })}`
}

/** Without a visitor there is nothing to press: this device is left by the button at the top. */
function printDevice(each: SignedInDevice, visitor: UserSession | undefined): Html {
  const words = deviceWords(each.userAgent)
  return html`<li>
<div><strong>${words}</strong> ${
    each.environment === 'sandbox' &&
    html`<span
  class="badge sandbox">Sandbox</span>`
  }<br>
<span class="faint">from ${each.address} · signed in ${printDate(each.firstSeenAt)} · last active
  ${printDate(each.lastSeenAt)}</span></div>
${visitor?.forms.button(forms.closeDevice, 'Sign out', {
  standing: { session: each.id },
  of: `${words}, ${each.address}`,
  buttonLook: 'danger',
})}
</li>`
}
