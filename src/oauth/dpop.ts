/**
 * DPoP (RFC 9449): a token that the sender signs for one request, with a key whose public part is in it. All
 * that is wrong with one is found. Its address is compared with what this site is configured as, never with
 * what a request says.
 */
import { hash } from 'node:crypto'
import { after, minute, second } from '../clock.ts'
import { BoundedMap } from '../concurrency/bounded-map.ts'
import { type CompactJws, isSignedBy, parseCompactJws } from '../crypto/compact-jws.ts'
import { fingerprint } from '../crypto/hash.ts'
import {
  isAlgorithmOf,
  readPublicJwk,
  signatureAlgorithms,
  UnusableKey,
  type VerifyingKey,
} from '../crypto/jwk.ts'
import { aheadAtMostMs, quote } from './client-assertion.ts'
import type { ProofFault, ProofUse } from './proof.ts'

const proofMaxCharacters = 4_096
const oldAtMostMs = minute
/** For so long one is taken after it was taken first, if nobody remembers it. */
export const proofLivesMs = oldAtMostMs + aheadAtMostMs

export const dpopChecks = [
  'form',
  'type',
  'algorithm',
  'key',
  'signature',
  'claims',
  'method',
  'address',
  'time',
  'nonce',
  'token',
  'other-key',
  'used',
] as const
export type DpopCheck = (typeof dpopChecks)[number]
type Fault = ProofFault<DpopCheck>

/** What the proof is to be about. */
export interface ProvenRequest {
  readonly method: string
  /** Any of them, as `normaliseAddress` writes them. */
  readonly addresses: readonly string[]
  /** At a resource: the access token. */
  readonly accessToken?: string | undefined
  readonly nonces: NonceJudge
  /** Whether a proof without one is refused. */
  readonly demandsNonce: boolean
  readonly now: Date
}

export interface NonceJudge {
  isGood(nonce: string): boolean
}

interface JudgedProof {
  readonly faults: readonly Fault[]
  /** RFC 7638 of its key; undefined where it has none. */
  readonly thumbprint: string | undefined
  readonly use: ProofUse | undefined
}

/** Keys by the first part of a proof, which a sender writes the same each time. */
const knownHeads = new BoundedMap<string, VerifyingKey>(8 * 1024 * 1024)

export function judgeProof(text: string, request: ProvenRequest): JudgedProof {
  const jws = parseCompactJws(text, proofMaxCharacters)
  if (!jws) return { faults: [formFault(text)], thumbprint: undefined, use: undefined }
  const faults: Fault[] = []
  const key = readHead(text, jws, faults)
  if (key && !isSignedBy(jws, key))
    faults.push({ check: 'signature', problem: 'the signature is not of the key in its header' })
  findClaimFaults(jws.claims, request, faults)
  if (faults.length > 0 || !key) return { faults, thumbprint: key?.thumbprint, use: undefined }
  const issuedAt = new Date(Math.max(Number(jws.claims.iat) * second, request.now.getTime()))
  return {
    faults,
    thumbprint: key.thumbprint,
    use: {
      hash: fingerprint(`${key.thumbprint} ${jws.claims.jti as string}`),
      expiresAt: after(issuedAt, proofLivesMs),
    },
  }
}

function formFault(text: string): Fault {
  const problem = text.includes(',')
    ? 'the DPoP header was sent more than once'
    : `it is no compact JWS of at most ${proofMaxCharacters} characters`
  return { check: 'form', problem }
}

function readHead(text: string, { header }: CompactJws, faults: Fault[]): VerifyingKey | undefined {
  const head = text.slice(0, text.indexOf('.'))
  const before = knownHeads.get(head)
  if (before) return before
  const { typ, alg, jwk } = header
  // Nothing that it could name is understood here (RFC 7515, 4.1.11).
  if ('crit' in header) faults.push({ check: 'form', problem: 'its header must not have crit' })
  if (typ !== 'dpop+jwt') faults.push({ check: 'type', problem: `typ is ${quote(typ)}; it must be dpop+jwt` })
  if (!signatureAlgorithms.some((each) => isAlgorithmOf(alg, each)))
    faults.push({
      check: 'algorithm',
      problem: `alg is ${quote(alg)}; it must be one of ${signatureAlgorithms.join(', ')}`,
    })
  try {
    const key = readPublicJwk(jwk)
    if (isAlgorithmOf(alg, key.algorithm)) {
      if (faults.length === 0) knownHeads.set(head, key)
      return key
    }
    faults.push({
      check: 'key',
      problem: `the key in its header signs by ${key.algorithm}, and alg is ${quote(alg)}`,
    })
  } catch (error) {
    if (!(error instanceof UnusableKey)) throw error
    faults.push({ check: 'key', problem: `jwk ${error.message}` })
  }
  return undefined
}

function findClaimFaults(claims: CompactJws['claims'], request: ProvenRequest, faults: Fault[]): void {
  const { jti, htm, htu, iat, nonce, ath } = claims
  if (typeof jti !== 'string' || jti.length === 0 || jti.length > 255)
    faults.push({ check: 'claims', problem: 'jti must be a text of 1 to 255 characters, new each time' })
  if (htm !== request.method)
    faults.push({ check: 'method', problem: `htm is ${quote(htm)}, and the request is ${request.method}` })
  if (typeof htu !== 'string' || !isAddress(htu, request.addresses))
    faults.push({
      check: 'address',
      problem: `htu is ${quote(htu)}, and the request is to ${request.addresses[0]}`,
    })
  findTimeFaults(claims, request, faults)
  if (typeof nonce === 'string' && !request.nonces.isGood(nonce))
    faults.push({
      check: 'nonce',
      problem: 'its nonce is none of ours, or too old: take the one in the DPoP-Nonce header',
    })
  if (request.demandsNonce && typeof nonce !== 'string')
    faults.push({ check: 'nonce', problem: 'nonce is missing: take the one in the DPoP-Nonce header' })
  if (request.accessToken !== undefined && ath !== hash('sha256', request.accessToken, 'base64url'))
    faults.push({
      check: 'token',
      problem: `ath is ${quote(ath)}; it must be base64url of the SHA-256 of the access token that is sent`,
    })
  if (iat !== undefined && typeof iat !== 'number')
    faults.push({ check: 'claims', problem: 'iat must be a number' })
}

function findTimeFaults(
  { iat, exp, nbf }: CompactJws['claims'],
  { now }: ProvenRequest,
  faults: Fault[],
): void {
  const nowS = now.getTime() / second
  if (iat === undefined) faults.push({ check: 'time', problem: 'iat is missing' })
  else if (Number(iat) < nowS - oldAtMostMs / second)
    faults.push({
      check: 'time',
      problem: `iat was ${Math.ceil(nowS - Number(iat))} seconds ago; at most 60 are taken`,
    })
  for (const [name, value] of [
    ['iat', iat],
    ['nbf', nbf],
  ] as const)
    if (value !== undefined && !(Number(value) <= nowS + aheadAtMostMs / second))
      faults.push({
        check: 'time',
        problem: `${name} is ${Math.floor(Number(value) - nowS)} seconds ahead of the clock here`,
      })
  if (exp !== undefined && !(Number(exp) > nowS - aheadAtMostMs / second))
    faults.push({ check: 'time', problem: `exp was ${Math.ceil(nowS - Number(exp))} seconds ago` })
}

function isAddress(htu: string, addresses: readonly string[]): boolean {
  return addresses.includes(htu) || addresses.includes(normaliseAddress(htu) ?? '')
}

/** RFC 9449, 4.3: without query and fragment, and spelled one way (RFC 3986, 6.2.2 and 6.2.3). */
export function normaliseAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, host, pathname } = new URL(text)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  return `${protocol}//${host}${pathname.replace(/%[0-9a-f]{2}/gi, spellEscape)}`
}

function spellEscape(triplet: string): string {
  const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
  return /[A-Za-z0-9\-._~]/.test(character) ? character : triplet.toUpperCase()
}
