/** Adding and removing passkeys. */

import type { Context } from '../../context.ts'
import { NotFound } from '../../problem.ts'
import { findNameProblem } from '../../text/name.ts'
import { askForNew, listPasskeys, type PasskeySite, passkeysPerUser } from '../../users/passkey.ts'
import { addSecondPasskey, removeSecondPasskey } from '../../users/second-factor.ts'
import { deviceWords } from '../../vocabulary/device-words.ts'
import { setCookie } from '../frame/cookies.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { printField } from '../frame/fields.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { html } from '../frame/html.ts'
import { csrfField, notice } from '../frame/page.ts'
import { placeOf } from '../frame/place.ts'
import type { Visit } from '../frame/visit.ts'
import { browserOf, holderOf, type UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { passkeyScript, passkeySite, printPasskeyForm } from '../sign-in/passkey-form.ts'
import { parseId, sendAccountPage } from './account-page.ts'
import { sendRecoveryCodes } from './recovery-codes.ts'

const here = '/account/security/passkey'
const nameMaxCharacters = fieldLengths['/account/security/passkey'].name

export async function showPasskeySetup(visit: Visit, visitor: StrongUserSession) {
  const { context, request } = visit
  const name = deviceWords(browserOf(request).userAgent)
  return sendSetup(visit, visitor, getSite(context), { name })
}

export async function submitPasskeySetup(visit: Visit, visitor: StrongUserSession, form: SubmittedForm) {
  const { context, request, reply } = visit
  const site = getSite(context)
  const name = (form.find('name') ?? '').trim()
  const wrong = findNameProblem(name, nameMaxCharacters)
  if (wrong) return sendSetup(visit, visitor, site, { name, nameProblem: `The name ${wrong}.` })
  const answered = { name, response: form.find('credential') ?? '', sealed: form.find('offer') ?? '' }
  const holder = holderOf(context, request, visitor)
  const added = await addSecondPasskey(context.db, context.vault, site, holder, answered)
  if (!added) {
    const problem = 'The passkey could not be added: it is known already, or took too long. Try again.'
    return sendSetup(visit, visitor, site, { name, problem })
  }
  setCookie(context, reply, 'session', added.session.text)
  if (added.recoveryCodes.length === 0)
    return leadToDone(visit, visitor, '/account/security', {
      text: `The passkey “${name}” is added.`,
      link: { path: '/account/devices', label: 'Sign-ins and devices' },
    })
  return sendRecoveryCodes(visit, visitor, added.session, added.recoveryCodes)
}

export async function removeKey(visit: Visit, visitor: StrongUserSession, form: SubmittedForm) {
  const id = parseId(form.find('passkey'), 'passkey')
  await removeSecondPasskey(visit.context.db, visitor.session.user.id, id, visitor.act)
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

interface Setup {
  readonly name: string
  readonly nameProblem?: string
  readonly problem?: string
}

async function sendSetup(visit: Visit, visitor: UserSession, site: PasskeySite, setup: Setup) {
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
  const { name, nameProblem, problem } = setup
  const fields = html`${csrfField(visitor.csrf)}
${printField({ name: 'name', label: 'Name', value: name, autocomplete: 'off', maxLength: nameMaxCharacters, hint: 'To tell it from others, such as the device that holds it.', problem: nameProblem })}`
  const form = printPasskeyForm({
    action: here,
    way: 'create',
    asked,
    fields,
    button: 'Add a passkey',
    primary: true,
  })
  const full = known.length >= passkeysPerUser
  return sendAccountPage(visit, visitor, {
    title: 'Add a passkey',
    here: '/account/security',
    status: nameProblem !== undefined || problem !== undefined ? 400 : 200,
    scripts: [passkeyScript],
    body: html`<section class="card narrow">
<h1>Add a passkey</h1>
<p>A passkey is kept by your device, your password manager or a security key. It works on this site alone,
  so that no other page can ask for it: <strong>${site.host}</strong>.</p>
${problem !== undefined && notice('error', problem)}
${full ? notice('error', `You have ${passkeysPerUser} passkeys, which is as many as there may be. Remove one first.`) : form}
<p class="small">From then on signing in takes your password and a second factor.
  Other sessions that were opened without one end.</p>
</section>`,
  })
}
