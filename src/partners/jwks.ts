/**
 * A set of a client's public keys (RFC 7517, 5), as it was given or read. A single key counts as a set.
 */
import type { X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { parseCertificate } from '../crypto/certificate.ts'
import { type PublicJwk, readPublicJwk, UnusableKey, type VerifyingKey } from '../crypto/jwk.ts'
import type { FieldProblem } from '../problem.ts'

export const mostKeys = 10
const mostJwksBytes = 16 * 1024
/** A partner's own address may hold keys for other purposes, too. */
const mostKeysAtAddress = 100

/** As it is kept. */
export interface ClientJwk extends PublicJwk {
  /** The certificate of a client that comes with one, alone. */
  readonly x5c?: readonly string[]
}

export interface ReadKey extends VerifyingKey {
  readonly jwk: ClientJwk
}

export interface ReadJwks {
  /** Each once. */
  readonly keys: readonly ReadKey[]
  /** Of the set, and of each key that cannot be used. */
  readonly problems: readonly string[]
}

export function readJwksText(text: string): ReadJwks {
  if (Buffer.byteLength(text) > mostJwksBytes)
    return unusable(`must have at most ${mostJwksBytes / 1024} KiB`)
  return readJwks(parse(text), mostKeys)
}

export function readJwksValue(value: unknown): ReadJwks {
  return readJwks(value, mostKeys)
}

/** What a client's address answers: the keys that can be used count, and the others are only named. */
export function readJwksAtAddress(text: string): ReadJwks {
  const read = readJwks(parse(text), mostKeysAtAddress)
  return read.keys.length > mostKeys ? unusable(`holds more than ${mostKeys} keys that can be used`) : read
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own words quote what was given, which may be secret.
    return undefined
  }
}

function readJwks(value: unknown, most: number): ReadJwks {
  if (value === undefined) return unusable('must be a JWKS in JSON')
  const given = listOf(value)
  if (!given) return unusable('must be an object with keys')
  if (given.length === 0) return unusable('holds no key')
  if (given.length > most) return unusable(`must hold at most ${most} keys`)
  const keys = new Map<string, ReadKey>()
  const problems: string[] = []
  for (const [index, each] of given.entries())
    try {
      const key = readKey(each)
      keys.set(key.thumbprint, key)
    } catch (error) {
      if (!(error instanceof UnusableKey)) throw error
      problems.push(`${nameOf(each, index)} ${error.message}`)
    }
  return { keys: [...keys.values()], problems }
}

const longestCertificate = 8_000

/** RFC 7517, 4.7: the first of `x5c` is of the key itself. Those behind it count for nothing. */
function readKey(given: unknown): ReadKey {
  const key = readPublicJwk(given)
  const { x5c } = given as { readonly x5c?: unknown }
  if (x5c === undefined || isDeepStrictEqual(x5c, [])) return key
  const [first] = Array.isArray(x5c) ? x5c : []
  const isText = typeof first === 'string' && first.length <= longestCertificate
  const certificate = isText ? parseCertificate(Buffer.from(first, 'base64')) : undefined
  if (!certificate)
    throw new UnusableKey('has an x5c that does not begin with a certificate: its DER in base64')
  if (!isOfKey(certificate, key))
    throw new UnusableKey('has an x5c whose first certificate is of another key')
  return { ...key, jwk: { ...key.jwk, x5c: [certificate.raw.toString('base64')] } }
}

function isOfKey(certificate: X509Certificate, { publicKey }: VerifyingKey): boolean {
  try {
    return certificate.publicKey.equals(publicKey)
  } catch {
    // A key of a kind that nothing here can read.
    return false
  }
}

/** Every fault at once. */
export function findJwksProblems({ problems }: ReadJwks): FieldProblem[] {
  return problems.map((problem) => ({ field: 'jwks', problem }))
}

/** Those that are given away, because their private part is among what was given. */
export function findBurntKeys(value: unknown): string[] {
  return (listOf(value) ?? []).flatMap((each, index) => {
    try {
      readPublicJwk(each)
    } catch (error) {
      if (!(error instanceof UnusableKey)) throw error
      if (error.isBurnt) return [`${nameOf(each, index)} ${error.message}`]
    }
    return []
  })
}

function listOf(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if ('kty' in value) return [value]
  return 'keys' in value && Array.isArray(value.keys) ? value.keys : undefined
}

/** By its place, and by its name where that is plain. */
function nameOf(value: unknown, index: number): string {
  const kid = typeof value === 'object' && value !== null && 'kid' in value ? value.kid : undefined
  const isPlain = typeof kid === 'string' && /^[\w.:-]{1,60}$/.test(kid)
  return `key ${index + 1}${isPlain ? ` (${kid})` : ''}`
}

function unusable(problem: string): ReadJwks {
  return { keys: [], problems: [problem] }
}
