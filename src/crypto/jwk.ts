/**
 * Public keys of others (RFC 7517) that may sign for them here: P-256, Ed25519, and RSA of 2048 bits or more
 * (FAPI 2.0, 5.4). Nothing of a key that is secret is taken, not even to be ignored: whoever sent it has given
 * it away.
 */
import { constants, createPublicKey, hash, type KeyObject } from 'node:crypto'

/** As it is kept: the members that are the key, and those that say which of several it is. */
export interface PublicJwk {
  readonly kty: 'EC' | 'OKP' | 'RSA'
  readonly crv?: string
  readonly x?: string
  readonly y?: string
  readonly n?: string
  readonly e?: string
  readonly kid?: string
  readonly alg?: string
}

export interface VerifyingKey {
  /** It holds how its signatures are read, as node:crypto takes that from whatever it verifies with. */
  readonly publicKey: KeyObject
  /** Of what is signed; an Ed25519 signature makes its own. */
  readonly digest: 'sha256' | null
  /** The one algorithm that it signs by. */
  readonly algorithm: SignatureAlgorithm
  /** RFC 7638. */
  readonly thumbprint: string
  /** What is kept of it. */
  readonly jwk: PublicJwk
}

export const signatureAlgorithms = ['ES256', 'PS256', 'EdDSA'] as const
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number]
/** As metadata lists them: RFC 9864 calls EdDSA by its curve. */
export const namedAlgorithms: readonly string[] = [...signatureAlgorithms, 'Ed25519']

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const leastRsaBits = 2048
const mostRsaBits = 8192

export class UnusableKey extends Error {
  override readonly name = 'UnusableKey'
  /** Its secret was in it. */
  readonly isBurnt: boolean

  constructor(problem: string, isBurnt = false) {
    super(problem)
    this.isBurnt = isBurnt
  }
}

const kinds: Readonly<
  Record<PublicJwk['kty'], { readonly members: readonly string[]; readonly algorithm: SignatureAlgorithm }>
> = {
  EC: { members: ['crv', 'kty', 'x', 'y'], algorithm: 'ES256' },
  OKP: { members: ['crv', 'kty', 'x'], algorithm: 'EdDSA' },
  RSA: { members: ['e', 'kty', 'n'], algorithm: 'PS256' },
}
/**
 * As JWS has them (RFC 7518, 3.4 and 3.5). They are laid on the key, because beside a key each verification
 * costs a sixth more.
 */
const readings: Readonly<Record<SignatureAlgorithm, object>> = {
  ES256: { dsaEncoding: 'ieee-p1363' },
  PS256: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
  EdDSA: {},
}
const curves: Readonly<Partial<Record<PublicJwk['kty'], string>>> = { EC: 'P-256', OKP: 'Ed25519' }

/** Throws what is wrong with it, as the end of a sentence that begins with its name. */
export function readPublicJwk(value: unknown): VerifyingKey {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UnusableKey('must be a JSON object')
  const given = value as Record<string, unknown>
  if (secretMembers.some((name) => name in given))
    throw new UnusableKey(
      'holds its private part. Whoever has seen it can sign with it: make another key, and send the public one alone',
      true,
    )
  const kind = Object.hasOwn(kinds, String(given.kty)) ? kinds[given.kty as PublicJwk['kty']] : undefined
  if (!kind) throw new UnusableKey('must have the kty EC, OKP or RSA')
  const kty = given.kty as PublicJwk['kty']
  const curve = curves[kty]
  if (curve !== undefined && given.crv !== curve) throw new UnusableKey(`must be of the curve ${curve}`)
  if (given.use !== undefined && given.use !== 'sig')
    throw new UnusableKey('is not for signatures: its use must be sig')
  if (given.alg !== undefined && !isAlgorithmOf(given.alg, kind.algorithm))
    throw new UnusableKey(`must have the alg ${kind.algorithm}`)
  const own: Record<string, string> = {}
  for (const name of kind.members) {
    const member = given[name]
    if (typeof member !== 'string' || member.length > 2_000) throw new UnusableKey(`lacks ${name}`)
    own[name] = member
  }
  const publicKey = importKey(own)
  const bits = publicKey.asymmetricKeyDetails?.modulusLength
  if (bits !== undefined && (bits < leastRsaBits || bits > mostRsaBits))
    throw new UnusableKey(`must have ${leastRsaBits} to ${mostRsaBits} bits`)
  const { kid } = given
  return {
    publicKey: Object.assign(publicKey, readings[kind.algorithm]),
    digest: kind.algorithm === 'EdDSA' ? null : 'sha256',
    algorithm: kind.algorithm,
    thumbprint: hash('sha256', JSON.stringify(own), 'base64url'),
    jwk: {
      ...(own as unknown as PublicJwk),
      ...(typeof kid === 'string' && kid.length <= 255 && { kid }),
    },
  }
}

/** Of a key that was read before. */
export function algorithmOf({ kty }: PublicJwk): SignatureAlgorithm {
  return kinds[kty].algorithm
}

/** EdDSA has two names. */
export function isAlgorithmOf(said: unknown, algorithm: SignatureAlgorithm): boolean {
  return said === algorithm || (algorithm === 'EdDSA' && said === 'Ed25519')
}

/** One spelling a key: a thumbprint is of the members as they stand. */
function importKey(members: Record<string, string>): KeyObject {
  try {
    const key = createPublicKey({ key: members, format: 'jwk' })
    const printed = key.export({ format: 'jwk' }) as Record<string, string>
    if (Object.entries(members).every(([name, value]) => printed[name] === value)) return key
  } catch {
    // Not a point of its curve, or not base64url.
  }
  throw new UnusableKey('is no public key')
}
