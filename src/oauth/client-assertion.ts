/**
 * private_key_jwt (RFC 7523, 3; OpenID Connect Core, 9): a client says who it is by a token that it has signed
 * for this authorization server and for this one request. All that is wrong with one is found, for the partner
 * who looks for it; a stranger is told nothing of it.
 */
import { after, minute, second } from '../clock.ts'
import { type CompactJws, isSignedBy, parseCompactJws } from '../crypto/compact-jws.ts'
import { fingerprint } from '../crypto/hash.ts'
import { isAlgorithmOf, readPublicJwk, signatureAlgorithms, type VerifyingKey } from '../crypto/jwk.ts'
import type { LivingKey } from '../partners/clients.sql.ts'
import type { ProofFault, ProofUse } from './proof.ts'

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const assertionMaxCharacters = 4_096
const livesAtMostMs = 5 * minute
/** FAPI 2.0 SP 5.3.2.1: clocks of others are ahead of ours by this much at most. */
export const aheadAtMostMs = 30 * second
const triedKeys = 3
const types = ['jwt', 'client-authentication+jwt']
/** What would have a key looked for elsewhere, or something else signed. */
const refusedHeaders = ['crit', 'b64', 'jku', 'x5u', 'jwk']

export const assertionChecks = [
  'form',
  'header',
  'type',
  'algorithm',
  'client',
  'audience',
  'expiry',
  'not-yet',
  'id',
  'key',
  'signature',
  'used',
] as const
export type AssertionCheck = (typeof assertionChecks)[number]
type Fault = ProofFault<AssertionCheck>

export interface Assertion extends CompactJws {
  /** Whom it names; undefined where it names nobody, or two. */
  readonly clientId: string | undefined
}

export function parseAssertion(text: string): Assertion | undefined {
  const jws = parseCompactJws(text, assertionMaxCharacters)
  if (!jws) return undefined
  const { iss, sub } = jws.claims
  return { ...jws, clientId: typeof sub === 'string' && sub === iss ? sub : undefined }
}

export interface JudgedAssertion {
  /** In the order in which they are looked for. */
  readonly faults: readonly Fault[]
  readonly keyId: number | undefined
  /** Given where it is sound. */
  readonly use: ProofUse | undefined
}

interface Judge {
  readonly clientId: string
  readonly keys: readonly LivingKey[]
  readonly issuer: string
  readonly now: Date
}

export function judgeAssertion(assertion: Assertion, judge: Judge): JudgedAssertion {
  const { header, claims } = assertion
  const faults: Fault[] = [...headerFaults(header), ...claimFaults(claims, judge)]
  const candidates = findKeys(header, judge.keys)
  const key = candidates.find(({ verifying }) => isSignedBy(assertion, verifying))
  if (candidates.length === 0)
    faults.push({
      check: 'key',
      problem:
        typeof header.kid === 'string'
          ? `kid ${quote(header.kid)} names none of the keys of this client for ${quote(header.alg)}`
          : `the client has no key for ${quote(header.alg)}`,
    })
  else if (!key) faults.push({ check: 'signature', problem: 'no key of this client made the signature' })
  if (faults.length > 0 || !key) return { faults, keyId: key?.id, use: undefined }
  const expiresAt = after(new Date(Number(claims.exp) * second), aheadAtMostMs)
  const hash = fingerprint(`assertion ${judge.clientId} ${claims.jti as string}`)
  return { faults, keyId: key.id, use: { hash, expiresAt } }
}

function* headerFaults(header: CompactJws['header']): Generator<Fault> {
  const refused = refusedHeaders.find((name) => name in header)
  if (refused !== undefined) yield { check: 'header', problem: `its header must not have ${refused}` }
  const { typ, alg } = header
  if (typ !== undefined && !types.includes(String(typ).toLowerCase()))
    yield { check: 'type', problem: `typ is ${quote(typ)}: leave it out, or say client-authentication+jwt` }
  if (!signatureAlgorithms.some((each) => isAlgorithmOf(alg, each)))
    yield {
      check: 'algorithm',
      problem: `alg is ${quote(alg)}; it must be one of ${signatureAlgorithms.join(', ')}`,
    }
}

function* claimFaults(claims: CompactJws['claims'], { clientId, issuer, now }: Judge): Generator<Fault> {
  const { iss, sub, aud, exp, iat, nbf, jti } = claims
  if (iss !== clientId || sub !== clientId)
    yield {
      check: 'client',
      problem: `iss is ${quote(iss)} and sub is ${quote(sub)}; both must be ${clientId}`,
    }
  if (aud !== issuer)
    yield {
      check: 'audience',
      problem: `aud is ${quote(aud)}; it must be ${quote(issuer)}, one text and no list`,
    }
  const nowS = now.getTime() / second
  if (typeof exp !== 'number') yield { check: 'expiry', problem: 'exp is missing' }
  else if (exp <= nowS) yield { check: 'expiry', problem: `exp was ${Math.ceil(nowS - exp)} seconds ago` }
  else if (exp > nowS + (livesAtMostMs + aheadAtMostMs) / second)
    yield {
      check: 'expiry',
      problem: `exp is ${Math.floor(exp - nowS)} seconds ahead; at most 300 are taken`,
    }
  for (const [name, value] of [
    ['iat', iat],
    ['nbf', nbf],
  ] as const) {
    if (value !== undefined && typeof value !== 'number')
      yield { check: 'not-yet', problem: `${name} is no number` }
    else if (value !== undefined && value > nowS + aheadAtMostMs / second)
      yield {
        check: 'not-yet',
        problem: `${name} is ${Math.floor(value - nowS)} seconds ahead of the clock here: the sender's clock is fast`,
      }
  }
  if (typeof jti !== 'string' || jti.length === 0 || jti.length > 255)
    yield { check: 'id', problem: 'jti must be a text of 1 to 255 characters, new each time' }
}

interface Candidate {
  readonly id: number
  readonly verifying: VerifyingKey
}

/** One name may be of several keys (FAPI 2.0 SP 5.4.3): what it is signed by decides. */
function findKeys({ kid, alg }: CompactJws['header'], keys: readonly LivingKey[]): Candidate[] {
  return keys
    .map((key) => ({ id: key.id, key, verifying: verifyingKeyOf(key) }))
    .filter(({ key: { jwk, thumbprint }, verifying }) => {
      const isNamed = kid === undefined || kid === jwk.kid || kid === thumbprint
      return isNamed && isAlgorithmOf(alg, verifying.algorithm)
    })
    .slice(0, triedKeys)
}

const known = new WeakMap<LivingKey, VerifyingKey>()

function verifyingKeyOf(key: LivingKey): VerifyingKey {
  const found = known.get(key) ?? readPublicJwk(key.jwk)
  known.set(key, found)
  return found
}

/** As it may stand on a page or in a description. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
