/** Adding and removing passkeys. */

import type { Context } from '../../context.ts'
import { NotFound, Problem } from '../../problem.ts'
import { askForNew, listPasskeys, type PasskeySite, passkeysPerUser } from '../../users/passkey.ts'
import { addSecondPasskey, removeSecondPasskey } from '../../users/second-factor.ts'
import { deviceWords } from '../../vocabulary/device-words.ts'
import { setCookie } from '../frame/cookies.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { html } from '../frame/html.ts'
import { notice } from '../frame/page.ts'
import { placeOf } from '../frame/place.ts'
import type { Visit } from '../frame/visit.ts'
import { browserOf, holderOf, type UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { passkeyOf, passkeyScript, passkeySite, printPasskeyParts } from '../sign-in/passkey-form.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'
import { sendRecoveryCodes } from './recovery-codes.ts'

const here = '/account/security/passkey'

export async function showPasskeySetup(visit: Visit, visitor: StrongUserSession) {
  return sendSetup(visit, visitor, getSite(visit.context))
}

export async function submitPasskeySetup(
  visit: Visit,
  visitor: StrongUserSession,
  { values: { name, credential, offer } }: Submission<typeof forms.addPasskey>,
) {
  const { context, request, reply } = visit
  const site = getSite(context)
  const answered = { name, response: credential, sealed: offer }
  const holder = holderOf(context, request, visitor)
  const added = await addSecondPasskey(context.db, context.vault, site, holder, answered)
  if (!added) {
    const problem = 'The passkey could not be added: it is known already, or took too long. Try again.'
    throw new Problem(400, 'invalid_request', problem)
  }
  setCookie(context, reply, 'session', added.session.text)
  if (added.recoveryCodes.length === 0)
    return leadToDone(visit, visitor, '/account/security', {
      text: `The passkey “${name}” is added.`,
      link: { path: '/account/devices', label: 'Sign-ins and devices' },
    })
  return sendRecoveryCodes(visit, visitor, added.session, added.recoveryCodes)
}

export async function removeKey(
  visit: Visit,
  visitor: StrongUserSession,
  { values }: Submission<typeof forms.removePasskey>,
) {
  await removeSecondPasskey(visit.context.db, visitor.session.user.id, values.passkey, visitor.act)
  return leadToDone(visit, visitor, '/account/security', {
    text: 'The passkey is removed.',
    link: { path: here, label: 'Add another' },
  })
}

function getSite(context: Context): PasskeySite {
  const site = passkeySite(context)
  if (!site) throw new NotFound('There are no passkeys at an address without a name.')
  return site
}

async function sendSetup(visit: Visit, visitor: UserSession, site: PasskeySite) {
  const { context } = visit
  const { user } = visitor.session
  const known = await listPasskeys(context.db, user.id)
  const asked = await askForNew(
    context.vault,
    site,
    placeOf(visit.reply).brand,
    user,
    known,
    context.clock.now(),
  )
  const name = deviceWords(browserOf(visit.request).userAgent)
  const form = visitor.forms.print(
    forms.addPasskey,
    { ...passkeyOf('create', asked), standing: { name, offer: asked.sealed, credential: '' } },
    (view) => html`${view.field('name')}${printPasskeyParts('Add a passkey', true)}`,
  )
  const full = known.length >= passkeysPerUser
  return sendAccountPage(visit, visitor, {
    title: 'Add a passkey',
    here: '/account/security',
    scripts: [passkeyScript],
    body: html`<section class="card narrow">
<h1>Add a passkey</h1>
<p>A passkey is kept by your device, your password manager or a security key. It works on this site alone,
  so that no other page can ask for it: <strong>${site.host}</strong>.</p>
${full ? notice('error', `You have ${passkeysPerUser} passkeys, which is as many as there may be. Remove one first.`) : form}
<p class="small">From then on signing in takes your password and a second factor, or a passkey alone where
  the device makes sure that it is you. Other sessions that were opened without one end.</p>
</section>`,
  })
}
