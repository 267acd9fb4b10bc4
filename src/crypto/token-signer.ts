/**
 * Signed tokens (compact JWS, Ed25519) for the brokerage's own systems, and the public keys that verify them.
 * Private keys follow from the keys of the vault: whatever rotates and prunes those does the same to these,
 * and nothing is stored. A key is published before it signs, so that nobody who verifies meets a signature
 * whose key another node, or a cache on the way, does not know yet.
 */
import { hash, type KeyObject, sign } from 'node:crypto'
import { type Clock, minute } from '../clock.ts'
import { privateKeyOf, publicBytesOf } from './ed25519.ts'
import type { Vault } from './vault.ts'

/** RFC 7517 and RFC 8037. */
interface PublicKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly use: 'sig'
  readonly alg: 'EdDSA'
}

export interface TokenSigner {
  /** `type` says what the token is for, and is part of what is signed (RFC 8725, 3.11). */
  sign(type: string, claims: object): string
  /** Of every key of the vault, the one that signs first. */
  publicKeys(): readonly PublicKey[]
}

interface SigningKey {
  readonly privateKey: KeyObject
  readonly publicKey: PublicKey
  readonly signsAtMs: number
  /** By type, as they stand in a token. */
  readonly headers: Map<string, string>
}

/** How long others may keep the public keys. */
export const publicKeysMaxAgeSeconds = 60

/** Other nodes hear of a new key within seconds; what was cached before it came is gone by then. */
const publishedBeforeMs = 2 * minute

/** `purpose` sets its keys apart from those of other signers on the same vault. */
export function openTokenSigner(vault: Vault, clock: Clock, purpose: string): TokenSigner {
  let ids: readonly string[] = []
  let keys: readonly SigningKey[] = []

  function readKeys(signsAtMs: number): void {
    const before = new Map(keys.map((key) => [key.publicKey.kid, key]))
    ids = vault.keyIds
    keys = vault.derive(purpose).map((seed) => {
      const key = signingKeyOf(seed, signsAtMs)
      return before.get(key.publicKey.kid) ?? key
    })
  }
  // What is there at the beginning was published by whoever ran before.
  readKeys(Number.NEGATIVE_INFINITY)

  function currentKeys(): readonly SigningKey[] {
    const { keyIds } = vault
    const isSame = keyIds.length === ids.length && keyIds.every((id, place) => id === ids[place])
    if (!isSame) readKeys(clock.now().getTime() + publishedBeforeMs)
    return keys
  }
  /** The first of the vault that is no longer new, or a new one where there is no other. */
  function signingKey(): SigningKey {
    const all = currentKeys()
    const nowMs = clock.now().getTime()
    return all.find((key) => key.signsAtMs <= nowMs) ?? all[0]!
  }
  return {
    sign(type, claims) {
      const key = signingKey()
      const text = `${headerOf(key, type)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
      return `${text}.${sign(null, Buffer.from(text), key.privateKey).toString('base64url')}`
    },
    publicKeys: () => currentKeys().map(({ publicKey }) => publicKey),
  }
}

function signingKeyOf(seed: Buffer, signsAtMs: number): SigningKey {
  const privateKey = privateKeyOf(seed)
  const thumbprinted = { crv: 'Ed25519', kty: 'OKP', x: publicBytesOf(privateKey) } as const
  const kid = hash('sha256', JSON.stringify(thumbprinted), 'base64url')
  const publicKey: PublicKey = { ...thumbprinted, kid, use: 'sig', alg: 'EdDSA' }
  return { privateKey, publicKey, signsAtMs, headers: new Map() }
}

function headerOf({ headers, publicKey: { alg, kid } }: SigningKey, typ: string): string {
  const made = headers.get(typ)
  if (made) return made
  const header = Buffer.from(JSON.stringify({ alg, typ, kid })).toString('base64url')
  headers.set(typ, header)
  return header
}
