/**
 * The token in the link of an invitation, of which only a hash is stored. It is derived from a seed by a key of the vault, so that whoever sends
 * the message, and sends it once more after a crash, finds the same one, and whoever reads the database finds none.
 */
import { equalBytes, hmacSha256 } from '../crypto/hash.ts'
import { randomLetters } from '../crypto/random.ts'
import { deriveToken, parseToken, type Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'

const purpose = 'invitation'
const seedLetters = 22

interface InvitationLink {
  readonly seed: string
  readonly token: Token
}

export function issueLink(vault: Vault): InvitationLink {
  const seed = randomLetters(seedLetters)
  return { seed, token: tokenOf(vault.derive(purpose)[0]!, seed) }
}

/** Keys may have been rotated since: it is the one with the hash that was written down. Undefined when its key is gone. */
export function findLinkToken(vault: Vault, seed: string, hash: Buffer): string | undefined {
  const tokens = vault.derive(purpose).map((key) => tokenOf(key, seed))
  return tokens.find((token) => equalBytes(token.hash, hash))?.text
}

/** Undefined for what cannot be one. */
export function parseLinkToken(text: string | undefined): Token | undefined {
  const token = parseToken(text ?? '')
  return token?.kind === 'invitation' && token.environment === 'live' ? token : undefined
}

export function linkPath(tokenText: string): string {
  return `/partner/invitation/${tokenText}`
}

function tokenOf(key: Buffer, seed: string): Token {
  return deriveToken('invitation', 'live', hmacSha256(key, seed))
}
