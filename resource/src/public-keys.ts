/**
 * The public keys of what the gateway signs (RFC 7517), remembered. A `kid` that is not among them is looked
 * for anew, but not often: anybody can make one up.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { Clock } from './clock.ts'
import type { Exchange } from './exchange.ts'
import { readReply } from './gateway.ts'
import { type JsonObject, NotUnderstood, parseObject } from './read-json.ts'
import { Unavailable } from './unavailable.ts'

export interface PublicKeys {
  /** Without a promise where it is known. */
  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>
}

/** A key that was pruned verifies nothing any more after so long. */
const believedMs = 10 * 60_000
/** From then on new ones are fetched while the old ones are used. */
const freshMs = 5 * 60_000
/** While there are keys to go by. */
const betweenLooksMs = 10_000
/** While there are none. */
const betweenTriesMs = 1_000

export function openPublicKeys(exchange: Exchange, issuer: string, clock: Clock): PublicKeys {
  const url = new URL('/.well-known/jwks.json', issuer)
  let keys: ReadonlyMap<string, KeyObject> = new Map()
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let triedAtMs = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | undefined

  async function fetchKeys(): Promise<void> {
    const askedAtMs = clock.monotonicMs()
    triedAtMs = askedAtMs
    const asked = { url, method: 'GET', headers: { accept: 'application/json' } } as const
    const reply = await exchange.ask(asked).catch((cause: unknown) => {
      throw new Unavailable('The keys of the gateway cannot be fetched.', { cause })
    })
    keys = readReply(reply, parseKeys)
    fetchedAtMs = askedAtMs
  }
  function look(): Promise<void> {
    underWay ??= fetchKeys().finally(() => {
      underWay = undefined
    })
    return underWay
  }
  const mayLook = (afterMs = betweenLooksMs) =>
    underWay !== undefined || clock.monotonicMs() - triedAtMs >= afterMs

  async function lookFor(kid: string): Promise<KeyObject | undefined> {
    await look()
    return keys.get(kid)
  }
  return {
    find(kid) {
      const ageMs = clock.monotonicMs() - fetchedAtMs
      const known = keys.get(kid)
      if (ageMs >= believedMs) {
        if (mayLook(betweenTriesMs)) return lookFor(kid)
        return Promise.reject(new Unavailable('The keys of the gateway could not be fetched a moment ago.'))
      }
      if (!known) return mayLook() ? lookFor(kid) : undefined
      // Whoever fails now is asked again, and waited for once nothing is believed any more.
      if (ageMs >= freshMs && mayLook()) look().catch(() => {})
      return known
    },
  }
}

function parseKeys(text: string): ReadonlyMap<string, KeyObject> {
  const { keys } = parseObject(text)
  if (!Array.isArray(keys)) throw new NotUnderstood('It has no keys.')
  return new Map((keys as unknown[]).flatMap(parseKey))
}

/** Of the kind that the gateway signs with; of others nothing is verified. */
function parseKey(jwk: unknown): [string, KeyObject][] {
  if (typeof jwk !== 'object' || jwk === null) return []
  const { kty, crv, x, kid } = jwk as JsonObject
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || typeof kid !== 'string') return []
  try {
    return [[kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' })]]
  } catch {
    return []
  }
}
