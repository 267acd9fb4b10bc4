/** The forms of an account. */
import { declinable } from '../../notices/facts.ts'
import { passwordMaxBytes } from '../../users/password.ts'
import { environments } from '../../vocabulary/environment.ts'
import { scopes } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import { email, key, keyNumber, name, oneOf, secret, shown, text, tick, ticks } from '../frame/field.ts'
import { defineButton, defineForm } from '../frame/form.ts'
import { html } from '../frame/html.ts'
import { newPasswordHint } from '../sign-in/forms.ts'

const ofAuthorization = { authorization: keyNumber() }
export const revokeApplication = defineForm('/account/revoke', ofAuthorization)
export const pauseApplication = defineForm('/account/pause', ofAuthorization)
export const resumeApplication = defineForm('/account/resume', ofAuthorization)

export const createToken = defineForm(
  '/account/api/tokens',
  {
    name: text({ label: 'Name', most: 100, isRequired: true, more: html`placeholder="What it is for"` }),
    environment: oneOf({
      label: 'Kind',
      of: environments,
      choices: [
        { value: 'live', label: 'Personal API token (live)' },
        { value: 'sandbox', label: 'Sandbox token' },
      ],
    }),
    only: ticks({
      label: 'Only for some things',
      hint: 'Tick none, and it may do everything that you may.',
      of: scopes,
      choices: scopes.map((value) => ({ value, label: `${scopeWords[value].title} (${value})` })),
    }),
    days: oneOf({
      label: 'It ends',
      of: ['', '7', '30', '90', '365'],
      choices: [
        { value: '', label: 'when I revoke it' },
        { value: '7', label: 'after 7 days' },
        { value: '30', label: 'after 30 days' },
        { value: '90', label: 'after 90 days' },
        { value: '365', label: 'after a year' },
      ],
    }),
  },
  { makes: true },
)
export const revokeToken = defineForm('/account/api/revoke', { token: keyNumber() })

export const closeDevice = defineForm('/account/devices/close', { session: keyNumber() })
export const closeOtherDevices = defineButton('/account/devices/close/others')

const password = { most: passwordMaxBytes, isRequired: true, more: html`autocomplete="new-password"` }

export const changePassword = defineForm('/account/password', {
  current: secret({ ...password, label: 'Current password', more: html`autocomplete="current-password"` }),
  next: secret({ ...password, label: 'New password', hint: newPasswordHint }),
  again: secret({ ...password, label: 'New password, again' }),
  pause: tick({ label: 'Pause every connected application too, until I resume it' }),
})

export const setUpApp = defineForm(
  '/account/security/app',
  {
    offer: key(),
    code: secret({
      label: 'Code from the app',
      most: 10,
      type: 'text',
      isRequired: true,
      more: html`autocomplete="one-time-code" inputmode="numeric"`,
    }),
  },
  { makes: true },
)
export const removeApp = defineButton('/account/security/app/remove', { heldBy: '/account/security' })

export const addPasskey = defineForm(
  '/account/security/passkey',
  {
    name: name({
      label: 'Name',
      most: 100,
      hint: 'To tell it from others, such as the device that holds it.',
    }),
    offer: shown(),
    credential: shown(),
  },
  { makes: true },
)
export const removePasskey = defineForm(
  '/account/security/passkey/remove',
  { passkey: keyNumber() },
  { heldBy: '/account/security' },
)

export const makeRecoveryCodes = defineButton('/account/security/recovery', { makes: true })

export const setEmail = defineForm('/account/security/email', {
  email: email({
    hint: 'Whoever reads this mailbox learns when you sign in and what you connect, and can ask for a new password if you have one here.',
  }),
})
export const removeEmail = defineButton('/account/security/email/remove')

export const chooseNotices = defineForm('/account/security/notices', {
  kind: ticks({ label: 'For your work with partners, if you want', of: declinable }),
})
