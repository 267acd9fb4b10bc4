/**
 * The token in the link of an invitation, or of a password that was forgotten, of which only a hash is
 * stored. It is derived from a seed by a key of the vault, so that the process that sends the message, and
 * one that sends it again after a crash, find the same token, and a reader of the database finds none.
 */
import { equalBytes, hmacSha256 } from '../crypto/hash.ts'
import { randomLetters } from '../crypto/random.ts'
import { deriveToken, parseToken, type Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'

type LinkKind = 'invitation' | 'reset'

const seedLetters = 22

interface InvitationLink {
  readonly seed: string
  readonly token: Token
}

export function issueLink(vault: Vault, kind: LinkKind = 'invitation'): InvitationLink {
  const seed = randomLetters(seedLetters)
  const [key] = vault.derive(kind)
  return { seed, token: tokenOf(kind, key, seed) }
}

/**
 * Keys may have been rotated since: it is the one with the hash that was written down. Undefined when its key
 * is gone.
 */
export function findLinkToken(
  vault: Vault,
  seed: string,
  hash: Buffer,
  kind: LinkKind = 'invitation',
): string | undefined {
  const tokens = vault.derive(kind).map((key) => tokenOf(kind, key, seed))
  return tokens.find((token) => equalBytes(token.hash, hash))?.text
}

/** Undefined for what cannot be one. */
export function parseLinkToken(text: string | undefined, kind: LinkKind = 'invitation'): Token | undefined {
  const token = parseToken(text ?? '')
  return token?.kind === kind && token.environment === 'live' ? token : undefined
}

export function resetPath(tokenText: string): string {
  return `/login/reset/${tokenText}`
}

export function linkPath(tokenText: string): string {
  return `/partner/invitation/${tokenText}`
}

function tokenOf(kind: LinkKind, key: Buffer, seed: string): Token {
  return deriveToken(kind, 'live', hmacSha256(key, seed))
}
