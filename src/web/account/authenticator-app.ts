/**
 * Setting up an authenticator app: a picture to scan, and a code that proves it was scanned. The secret
 * travels sealed in the form until then, so that a page left half-way leaves nothing behind.
 */

import { minute } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { Invalid } from '../../problem.ts'
import { addAuthenticatorApp, removeAuthenticatorApp } from '../../users/second-factor.ts'
import { findStep, findTotp, makeTotpSecret, printTotpUri } from '../../users/totp.ts'
import { setCookie } from '../frame/cookies.ts'
import { type FlashMessage, leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { html } from '../frame/html.ts'
import { placeOf } from '../frame/place.ts'
import type { Visit } from '../frame/visit.ts'
import { holderOf, type UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'
import { printQrCode } from './qr-code.ts'
import { sendRecoveryCodes } from './recovery-codes.ts'

const here = '/account/security/app'
const offerLifetimeMs = 30 * minute

export async function showAppSetup(visit: Visit, visitor: StrongUserSession) {
  const { context, reply } = visit
  if (await findTotp(context.db, visitor.session.user.id)) return reply.redirect('/account/security', 303)
  // After a wrong code the picture that was scanned is still good.
  const offer = visitor.forms.typedInto(forms.setUpApp, 'offer')
  const secret = openOffer(context, visitor, offer)
  return secret === undefined
    ? sendSetup(visit, visitor, makeTotpSecret())
    : sendSetup(visit, visitor, secret, offer)
}

export async function submitAppSetup(
  visit: Visit,
  visitor: StrongUserSession,
  { values: { offer, code } }: Submission<typeof forms.setUpApp>,
) {
  const { context, request, reply } = visit
  const secret = openOffer(context, visitor, offer)
  if (secret === undefined) return reply.redirect(here, 303)
  const step = findStep(secret, code, visitor.act.at)
  if (step === undefined) {
    const problem = 'That is not the code that the app shows now. Check that the time of your phone is right.'
    throw new Invalid([{ field: 'code', problem }])
  }
  const holder = holderOf(context, request, visitor)
  const added = await addAuthenticatorApp(context.db, context.vault, holder, { secret, step })
  if (!added) return reply.redirect('/account/security', 303)
  setCookie(context, reply, 'session', added.session.text)
  if (added.recoveryCodes.length === 0) return leadToDone(visit, visitor, '/account/security', appAdded)
  return sendRecoveryCodes(visit, visitor, added.session, added.recoveryCodes)
}

export async function removeApp(visit: Visit, visitor: StrongUserSession) {
  await removeAuthenticatorApp(visit.context.db, visitor.session.user.id, visitor.act)
  return leadToDone(visit, visitor, '/account/security', {
    text: 'The authenticator app is removed.',
    link: { path: here, label: 'Set one up again' },
  })
}

const appAdded: FlashMessage = {
  text: 'The authenticator app is set up. You are signed out everywhere else.',
  link: { path: '/account/devices', label: 'Sign-ins and devices' },
}

const purposeOf = ({ session }: UserSession) => `totp-offer:${session.user.id}`

function sealOffer(context: Context, visitor: UserSession, secret: string): string {
  const endsAt = context.clock.now().getTime() + offerLifetimeMs
  return context.vault.seal(purposeOf(visitor), `${endsAt} ${secret}`).toString('base64url')
}

function openOffer(context: Context, visitor: UserSession, sealed: string | undefined): string | undefined {
  const text = context.vault.open(purposeOf(visitor), Buffer.from(sealed ?? '', 'base64url'))
  const [endsAt, secret] = text?.split(' ') ?? []
  return Number(endsAt) > context.clock.now().getTime() ? secret : undefined
}

function sendSetup(
  visit: Visit,
  visitor: UserSession,
  secret: string,
  offer = sealOffer(visit.context, visitor, secret),
) {
  const uri = printTotpUri(secret, visitor.session.user, issuerOf(visit))
  return sendAccountPage(visit, visitor, {
    title: 'Set up an authenticator app',
    here: '/account/security',
    body: html`<section class="card narrow">
<h1>Set up an authenticator app</h1>
<ol class="steps">
<li>Open an authenticator app on your phone, and scan this picture with it.
${printQrCode(uri, 'QR code for your authenticator app')}
<details><summary>I cannot scan it</summary><p>Enter this key in the app by hand:
  <code class="secret">${secret.match(/.{1,4}/g)!.join(' ')}</code></p><p><a href="${uri}">Open an app on this
  device</a></p></details></li>
<li>Enter the code that the app shows now.
${visitor.forms.print(
  forms.setUpApp,
  { standing: { offer } },
  (view) => html`${view.field('code', { hasFocus: true })}${view.button('Turn on', { look: 'primary' })}`,
)}</li>
</ol>
<p class="small">From then on signing in takes your password and a code.
  You are signed out everywhere else.</p>
</section>`,
  })
}

/** A colon ends an issuer. */
function issuerOf({ context, reply }: Visit): string {
  return `${placeOf(reply).brand.name.replaceAll(':', '')} ${new URL(context.baseUrl).hostname}`
}
