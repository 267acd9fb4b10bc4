/** The forms that are there before a user is known: signing in, approving, signing out. */
import { passwordMaxBytes, passwordMinCharacters } from '../../users/password.ts'
import { scopes } from '../../vocabulary/scope.ts'
import { anyTicks, key, secret, shown, text, ticks } from '../frame/field.ts'
import { defineForm } from '../frame/form.ts'
import { html } from '../frame/html.ts'

/** Where a visitor goes next: an authorization request, or a page of their own. */
const onward = { request: key(), return: key() }

const username = text({
  label: 'Username',
  most: 100,
  isRequired: true,
  more: html`autocomplete="username" autocapitalize="none" spellcheck="false"`,
})

/** For people who choose a password, wherever they do. */
export const newPasswordHint = `At least ${passwordMinCharacters} characters, of any kind. Several unrelated words are easy to remember and hard to guess.`

const password = { label: 'Password', most: passwordMaxBytes, isRequired: true }

export const signIn = defineForm('/login', {
  ...onward,
  username,
  password: secret({ ...password, more: html`autocomplete="current-password"` }),
})

export const signInByPasskey = defineForm('/login/passkey', {
  ...onward,
  offer: shown(),
  credential: shown(),
})

export const cancelSignIn = defineForm('/login/cancel', onward)

const code = { type: 'text', isRequired: true } as const

export const sendCode = defineForm('/login/second', {
  ...onward,
  code: secret({
    ...code,
    label: 'Code from your authenticator app',
    hint: 'Six digits. Each code works once.',
    most: 10,
    more: html`autocomplete="one-time-code" inputmode="numeric"`,
  }),
})

export const sendRecoveryCode = defineForm('/login/second/recovery', {
  ...onward,
  recovery: secret({ ...code, label: 'Recovery code', most: 40, more: html`autocomplete="off"` }),
})

export const sendPasskey = defineForm('/login/second/passkey', {
  ...onward,
  offer: shown(),
  credential: shown(),
})

export const askForReset = defineForm('/login/forgotten', { username })

export const resetPassword = defineForm('/login/reset/:token', {
  password: secret({
    ...password,
    label: 'New password',
    hint: newPasswordHint,
    more: html`autocomplete="new-password"`,
  }),
})

export const answerConsent = defineForm(
  '/consent',
  {
    request: key(),
    /** The scopes that the page listed. */
    shown: shown(),
    scope: ticks({ label: 'It will be able to', of: scopes }),
    account: anyTicks({ label: 'In these accounts' }),
    decision: shown(),
  },
  { makes: true },
)

/** The request waits for the person who signs in next. */
export const signInAsOther = defineForm('/consent/other', { request: key() })

/** Sent by a provider, not by a page. */
export const takeLogout = defineForm('/logout/from/:provider', { logout_token: shown() })
