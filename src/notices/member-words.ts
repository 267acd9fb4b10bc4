/** What is said of members of a partner. An invitation has a link that carries a secret (decision 0024). */
import type { Vault } from '../crypto/vault.ts'
import { roleWords } from '../vocabulary/role-words.ts'
import type { NoticeFacts } from './facts.ts'
import { findLinkToken, linkPath } from './invitation-link.ts'
import { oneLine } from './message.ts'
import { type NoticeWriter, printMoment } from './notice-text.ts'

export const memberTellers: { readonly [Kind in 'invitation' | 'member-joined']: NoticeWriter<Kind> } = {
  invitation: (facts, _at, addresses, vault, brands) => ({
    environment: 'live',
    isForStranger: true,
    subject: `Invitation to “${oneLine(facts.partner)}”`,
    happened: `${facts.invitedBy === null ? 'You are invited' : `${oneLine(facts.invitedBy)} invites you`} to the partner portal of ${brands.live.name}.`,
    facts: [
      ['Partner', `“${oneLine(facts.partner)}”`],
      ['Role', `${facts.role}. ${roleWords[facts.role].text}`],
      ['Expires', printMoment(new Date(facts.expiresAt))],
    ],
    advice: `To accept or decline, open this link and sign in with your own account at ${brands.live.name}. Without one, the page says how you get one:\n\n${addresses.live}${printLinkPath(facts, vault)}`,
    notes: [
      'The link works once. Whoever has it can accept in your place, so do not pass it on.',
      'If you did not expect this message, ignore it: nothing happens.',
    ],
  }),
  'member-joined': ({ partner, branchId, name, role }, at, addresses) => ({
    environment: 'live',
    subject: `A new member of “${oneLine(partner)}”`,
    happened: 'Somebody accepted an invitation and is a member now.',
    facts: [
      ['Partner', `“${oneLine(partner)}”`],
      ['Member', `“${oneLine(name)}”`],
      ['Role', role],
      ['When', printMoment(at)],
    ],
    advice: `If you do not know them, remove them at ${addresses.live}/partner/${branchId}/members after signing in.`,
  }),
}

function printLinkPath({ seed, tokenHash }: NoticeFacts['invitation'], vault: Vault): string {
  const token = findLinkToken(vault, seed, Buffer.from(tokenHash, 'hex'))
  if (token === undefined) throw new Error('The key that made the link of an invitation is gone.')
  return linkPath(token)
}
