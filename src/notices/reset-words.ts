/** The message to a user who asked for a new password. Its link carries a secret (decision 0026). */
import type { Vault } from '../crypto/vault.ts'
import { findLinkToken, resetPath } from './invitation-link.ts'
import { type NoticeWriter, printMoment } from './notice-text.ts'

export const resetTellers: { readonly [Kind in 'password-reset']: NoticeWriter<Kind> } = {
  'password-reset': ({ seed, tokenHash, expiresAt }, at, addresses, vault) => ({
    environment: 'live',
    subject: 'Choose your password',
    happened: 'A link to choose your password was asked for, by you or by the brokerage on your behalf.',
    facts: [
      ['When', printMoment(at)],
      ['Expires', printMoment(new Date(expiresAt))],
    ],
    advice: `Open this link and choose one:\n\n${addresses.live}${printResetPath(seed, tokenHash, vault)}`,
    notes: [
      'If you did not expect this message, ignore it: nothing changes unless the link is used. Do not pass the link on.',
    ],
  }),
}

function printResetPath(seed: string, tokenHash: string, vault: Vault): string {
  const token = findLinkToken(vault, seed, Buffer.from(tokenHash, 'hex'), 'reset')
  if (token === undefined) throw new Error('The key that made the link of a password reset is gone.')
  return resetPath(token)
}
