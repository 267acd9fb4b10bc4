/**
 * The one door for what a provider says: its metadata and keys, ID tokens, userinfo and logout tokens. Each
 * becomes a value of ours here, or is refused with a reason that an operator reads; fields that are not used
 * are left out. Signatures, issuer, audience and expiry are the libraries' to check.
 */
import type { JWK, ServerMetadata } from 'openid-client'
import { minute, second } from '../clock.ts'
import { isLoopbackUrl } from '../network/loopback.ts'
import { findNameProblem } from '../text/name.ts'
import { unprintable } from '../text/printable.ts'
import { parseEmail } from '../users/email-address.ts'
import type { StaffRole } from '../vocabulary/permission.ts'
import { type Provider, vouches } from './provider.ts'

/** What it says of itself cannot be used: an operator has to mend it, here or there. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault'
}

/** What it says of a user cannot be believed. */
export class UntrustedClaims extends Error {
  override readonly name = 'UntrustedClaims'
}

type Claims = Readonly<Record<string, unknown>>

const isObject = (said: unknown): said is Claims =>
  typeof said === 'object' && said !== null && !Array.isArray(said)

/** One line that PostgreSQL and a page can hold. */
const isWord = (said: unknown, most: number): said is string =>
  typeof said === 'string' && said !== '' && said.length <= most && !unprintable.test(said)

const wordsIn = (said: unknown): string[] =>
  Array.isArray(said) ? said.filter((each) => isWord(each, 500)) : []

/**
 * Algorithms that need a private key of the provider's; not those by which our secret suffices to sign, or
 * nothing at all.
 */
export const signatures: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

const addressLength = 2_000
const neededAddresses = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const
const otherAddresses = [
  ...(['userinfo_endpoint', 'end_session_endpoint', 'pushed_authorization_request_endpoint'] as const),
]
const lists = ['acr_values_supported', 'code_challenge_methods_supported', 'prompt_values_supported'] as const
const flags = [
  ...(['authorization_response_iss_parameter_supported', 'backchannel_logout_supported'] as const),
  'backchannel_logout_session_supported' as const,
]

export interface ProviderMetadata {
  /** As the library takes it, with what is read here and nothing else. */
  readonly metadata: ServerMetadata
  /** Addresses that it named and that cannot be used: without them it does less. */
  readonly unusable: readonly string[]
}

/** Throws `ProviderFault`. */
export function parseMetadata(
  said: unknown,
  provider: Pick<Provider, 'issuer' | 'label'>,
  allowLoopback: boolean,
): ProviderMetadata {
  const { issuer, label } = provider
  if (!isObject(said)) throw new ProviderFault(tellNoMetadata('it is no JSON object'))
  if (said.issuer !== issuer)
    throw new ProviderFault(
      `${label} calls itself ${tell(said.issuer)}, not ${issuer}. Enter the issuer as it is there.`,
    )
  const isUsable = (name: string) => isAddress(said[name], allowLoopback)
  const missing = neededAddresses.filter((name) => !isUsable(name))
  if (missing.length > 0)
    throw new ProviderFault(
      `The metadata of ${label} has no address with ${allowLoopback ? 'http or https' : 'https'} as ${missing.join(', ')}.`,
    )
  const { id_token_signing_alg_values_supported: algorithms = ['RS256'] } = said
  const proving = wordsIn(algorithms).filter((each) => signatures.includes(each))
  if (proving.length === 0)
    throw new ProviderFault(`${label} signs its ID tokens in no way that proves who made them.`)
  const addresses = [...neededAddresses, ...otherAddresses.filter(isUsable)]
  const kept = [
    ...addresses.map((name) => [name, said[name]] as const),
    ...lists.filter((name) => Array.isArray(said[name])).map((name) => [name, wordsIn(said[name])] as const),
    ...flags.filter((name) => said[name] === true).map((name) => [name, true] as const),
  ]
  const metadata = { issuer, ...Object.fromEntries(kept), id_token_signing_alg_values_supported: proving }
  return { metadata, unusable: otherAddresses.filter((name) => said[name] !== undefined && !isUsable(name)) }
}

export const tellNoMetadata = (why: string) =>
  `Its metadata cannot be used: ${why}. Is the issuer right? It answers at /.well-known/openid-configuration.`

const tell = (said: unknown): string =>
  typeof said === 'string' ? said : (JSON.stringify(said) ?? 'nothing')

function isAddress(said: unknown, allowLoopback: boolean): boolean {
  const url = isWord(said, addressLength) ? URL.parse(said) : null
  if (url?.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || (allowLoopback && url.protocol === 'http:' && isLoopbackUrl(url.href))
}

const keyWords = ['kty', 'kid', 'use', 'alg', 'crv', 'n', 'e', 'x', 'y'] as const
const keysAtMost = 100

/** Those that can sign; what a key says beside is left out. */
export function parseKeys(said: unknown): { keys: JWK[] } {
  const keys: unknown[] = isObject(said) && Array.isArray(said.keys) ? said.keys.slice(0, keysAtMost) : []
  return { keys: keys.flatMap((key) => parseKey(key) ?? []) }
}

function parseKey(said: unknown): JWK | undefined {
  if (!isObject(said) || !['RSA', 'EC', 'OKP'].some((kind) => kind === said.kty)) return undefined
  if (said.use !== undefined && said.use !== 'sig') return undefined
  const words = keyWords.filter((name) => said[name] !== undefined)
  if (!words.every((name) => isWord(said[name], 2_000))) return undefined
  return Object.fromEntries(words.map((name) => [name, said[name]]))
}

/** OpenID Connect Core 2. */
const subjectLength = 255
/** A clock of theirs may be ahead of ours by so much. */
const aheadMs = minute

/** How the user signed in: the ID token alone says so. */
export interface SignInClaims {
  readonly subject: string
  readonly sid: string | undefined
  /** When they signed in there; the beginning of time where it does not say. */
  readonly authenticatedAt: Date
  /** The same, with a second factor. */
  readonly factorAt: Date | undefined
}

/** Throws `UntrustedClaims`. */
export function parseIdToken(claims: Claims, provider: Provider, now: Date): SignInClaims {
  const { sub, sid, azp, auth_time: authTime } = claims
  if (!isWord(sub, subjectLength))
    throw new UntrustedClaims(`its sub is not a text of 1 to ${subjectLength} characters`)
  if (sid !== undefined && !isWord(sid, subjectLength))
    throw new UntrustedClaims(`its sid is not a text of 1 to ${subjectLength} characters`)
  if (azp !== undefined && azp !== provider.clientId)
    throw new UntrustedClaims('it was issued to another client (azp)')
  const authenticatedAt = whenOf(authTime, now)
  const isStrong = authenticatedAt.getTime() > 0 && hasFactor(provider, claims)
  return { subject: sub, sid, authenticatedAt, factorAt: isStrong ? authenticatedAt : undefined }
}

function whenOf(authTime: unknown, now: Date): Date {
  if (authTime === undefined) return new Date(0)
  if (typeof authTime !== 'number' || !(authTime > 0)) throw new UntrustedClaims('its auth_time is no time')
  const atMs = authTime * second
  if (atMs > now.getTime() + aheadMs) throw new UntrustedClaims('its auth_time lies in the future')
  return new Date(Math.min(atMs, now.getTime()))
}

function hasFactor(provider: Provider, { acr, amr }: Claims): boolean {
  if (!vouches(provider)) return false
  const methods = wordsIn(amr)
  return (
    provider.strongAcr.some((each) => each === acr) ||
    methods.some((each) => provider.strongAmr.includes(each))
  )
}

/** Who the user is: from the ID token, or where it is silent from the userinfo endpoint. */
export interface PersonClaims {
  /** Of the configured claim. */
  readonly claimed: string | undefined
  /** None for holders: their providers name no such claim. */
  readonly roles: readonly StaffRole[]
  /** For people to read: no user is recognised by it. */
  readonly name: string | undefined
  /** One that the provider has verified. */
  readonly email: string | undefined
}

/**
 * The claims that are read, beside how the user signed in: no user is let in without the first, or kept out
 * for want of the second.
 */
export function claimsOf({ kind, linkClaim, rolesClaim }: Provider): {
  readonly needed: string[]
  readonly wanted: string[]
} {
  const needed = [linkClaim, rolesClaim].filter((name) => name !== null)
  return { needed, wanted: kind === 'staff' ? ['name', 'email'] : [] }
}

/** The ID token goes before what the userinfo endpoint says. Throws `UntrustedClaims`. */
export function parsePerson(idToken: Claims, userInfo: Claims, provider: Provider): PersonClaims {
  const { kind, linkClaim, rolesClaim, roleMap } = provider
  const claims = { ...userInfo, ...idToken }
  const said = rolesClaim === null ? [] : [claims[rolesClaim]].flat()
  const roles = said.flatMap((each) =>
    typeof each === 'string' && Object.hasOwn(roleMap, each) ? (roleMap[each] ?? []) : [],
  )
  return {
    claimed: linkClaim === null ? undefined : parseLink(linkClaim, claims[linkClaim]),
    roles: [...new Set(roles)],
    name: parseName(claims.name),
    // An address and whether it is verified are said in one place.
    email: kind === 'staff' ? parseAddress(idToken.email === undefined ? userInfo : idToken) : undefined,
  }
}

/** A number that JSON rounds could be another customer's. */
function parseLink(name: string, said: unknown): string | undefined {
  if (said === undefined) return undefined
  if (Number.isSafeInteger(said)) return String(said)
  if (!isWord(said, 500))
    throw new UntrustedClaims(`its ${name} is neither a text nor a whole number that JSON keeps`)
  return said
}

function parseName(said: unknown): string | undefined {
  return typeof said === 'string' && findNameProblem(said, 200) === undefined ? said.trim() : undefined
}

function parseAddress({ email, email_verified: isVerified }: Claims): string | undefined {
  if (typeof email !== 'string' || (isVerified !== true && isVerified !== 'true')) return undefined
  try {
    return parseEmail(email)
  } catch {
    return undefined
  }
}

/**
 * When the ID token of a token endpoint's answer was made, by its own word, in milliseconds; undefined where
 * it does not say.
 */
export function findIssuedMs(answer: unknown): number | undefined {
  const payload =
    isObject(answer) && typeof answer.id_token === 'string' ? answer.id_token.split('.')[1] : undefined
  if (payload === undefined) return undefined
  try {
    const said: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const issuedMs = isObject(said) && typeof said.iat === 'number' ? said.iat * second : Number.NaN
    return Number.isSafeInteger(Math.round(issuedMs)) ? Math.round(issuedMs) : undefined
  } catch {
    return undefined
  }
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Whose session ended, or which, or both. */
export interface LogoutClaims {
  readonly subject: string | undefined
  readonly sid: string | undefined
  readonly jti: string
}

/** A logout token's own word, before its signature is checked: what it is, whose, for whom and of when. */
interface LogoutTokenHead {
  readonly type: string
  readonly algorithm: string
  readonly kid: string | undefined
  readonly audience: readonly unknown[]
  /** Seconds; NaN where it is no number. */
  readonly issuedAt: number
  readonly expiresAt: number
}

export function parseLogoutHead({ typ, alg, kid }: Claims, { aud, iat, exp }: Claims): LogoutTokenHead {
  const word = (said: unknown) => (isWord(said, 500) ? said : '')
  const time = (said: unknown) => (typeof said === 'number' ? said : Number.NaN)
  return {
    type: word(typ)
      .toLowerCase()
      .replace(/^application\//, ''),
    ...{ algorithm: word(alg), kid: word(kid) || undefined, audience: [aud].flat() },
    ...{ issuedAt: time(iat), expiresAt: time(exp) },
  }
}

/** Back-Channel Logout 1.0, section 2.6, of what these tokens alone hold. Throws `UntrustedClaims`. */
export function parseLogout({ nonce, events, sub, sid, jti }: Claims): LogoutClaims {
  const isMissing = (said: unknown) => said === undefined
  const problem = [
    [isMissing(nonce), 'it has a nonce, as ID tokens do'],
    [isObject(events) && isObject(events[logoutEvent]), 'its event is not a logout'],
    [isWord(jti, 1_000), 'its jti is no text'],
    [
      isMissing(sub) || isWord(sub, subjectLength),
      `its sub is not a text of 1 to ${subjectLength} characters`,
    ],
    [
      isMissing(sid) || isWord(sid, subjectLength),
      `its sid is not a text of 1 to ${subjectLength} characters`,
    ],
    [!isMissing(sub) || !isMissing(sid), 'it says neither whose session ended nor which'],
  ].find(([isRight]) => !isRight)
  if (problem) throw new UntrustedClaims(String(problem[1]))
  return { subject: sub as string | undefined, sid: sid as string | undefined, jti: jti as string }
}
