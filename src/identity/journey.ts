/**
 * The way to a provider and back (OpenID Connect Core 3.1, with PKCE). What must fit together when a browser
 * comes back waits in the database, under the hash of the state, bound to the browser: it is taken once, and
 * an answer that was made for another browser, another provider or another request fits nothing.
 */
import { after, minute } from '../clock.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { findUnreachable } from '../network/guarded-fetch.ts'
import { cut } from '../text/cut.ts'
import { codeOf } from '../text/thrown.ts'
import {
  claimsOf,
  type PersonClaims,
  ProviderFault,
  parseIdToken,
  parsePerson,
  type SignInClaims,
} from './claims.ts'
import type { Provider } from './provider.ts'
import * as table from './sign-ins.sql.ts'
import { ProviderAway, type Upstream, type Upstreams } from './upstream.ts'

const lifetimeMs = 15 * minute

/** What the provider is asked for beside a sign-in. */
export interface SignInDemands {
  /** The sign-in is to be younger: what it says of that is all that counts. */
  readonly maxAgeSeconds?: number
  /** A second factor: hoped for, or nothing without it. */
  readonly factor?: 'hoped' | 'required'
  /** The user wants another account than the one signed in there: the provider asks which. */
  readonly otherAccount?: true
}

export interface Journey {
  readonly asked: SignInDemands
  /** Where the visitor is going: an authorization request, or a page of their own. */
  readonly onward: { readonly request?: string; readonly return?: string }
}

interface StoredJourney extends Journey {
  readonly nonce: string
  readonly verifier: string
}

interface JourneyDependencies {
  readonly db: Sql
  readonly vault: Vault
  readonly upstreams: Upstreams
}

/** Where the browser comes back to: an address for each provider, so that none can answer for another. */
interface Place {
  readonly redirectUri: string
  /** Known to this browser alone. */
  readonly browser: string
  readonly now: Date
}

const purposeOf = (stateHash: Buffer) => `provider-sign-in:${stateHash.toString('base64url')}`

/** The address to send the browser to. Throws `ProviderAway`, `ProviderFault` and `ProviderRefusal`. */
export async function setOut(
  deps: JourneyDependencies,
  provider: Provider,
  journey: Journey,
  place: Place,
): Promise<URL> {
  const { library, configuration, metadata } = await deps.upstreams.open(provider, { mayBeAway: false })
  const [state, nonce, verifier] = [
    library.randomState(),
    library.randomNonce(),
    library.randomPKCECodeVerifier(),
  ]
  const stateHash = sha256(state)
  const sealed = deps.vault.seal(
    purposeOf(stateHash),
    JSON.stringify({ ...journey, nonce, verifier } satisfies StoredJourney),
  )
  await deps.db.query(table.insertSignIn, {
    stateHash,
    browserHash: sha256(place.browser),
    providerId: provider.id,
    sealed,
    startedAt: place.now,
  })
  const { maxAgeSeconds, factor, otherAccount } = journey.asked
  const parameters = {
    ...{ redirect_uri: place.redirectUri, scope: provider.scopes.join(' '), state, nonce },
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(maxAgeSeconds !== undefined && { max_age: String(maxAgeSeconds) }),
    ...(factor !== undefined &&
      provider.strongAcr.length > 0 && { acr_values: provider.strongAcr.join(' ') }),
    ...(otherAccount && { prompt: promptOf(metadata) }),
  }
  const pushes = metadata.pushed_authorization_request_endpoint !== undefined
  if (!pushes) return library.buildAuthorizationUrl(configuration, parameters)
  return library.buildAuthorizationUrlWithPAR(configuration, parameters).catch((error: unknown) => {
    throw findUnreachable(error) ? asAway(error, provider, place.now) : new ProviderRefusal(wordsOf(error))
  })
}

/**
 * A choice of accounts where the provider says that it has one; every provider can ask for a sign-in (OpenID
 * Connect Core 3.1.2.1).
 */
function promptOf({ prompt_values_supported: prompts }: Upstream['metadata']): string {
  return Array.isArray(prompts) && prompts.includes('select_account') ? 'select_account' : 'login'
}

/** It turns the gateway away before a user can sign in there, as it does when a credential has run out. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal'
}

/** What the provider says of the user who came back, after every check. */
export interface VerifiedIdentity extends SignInClaims, PersonClaims {
  readonly idToken: string
}

type Return =
  | { readonly kind: 'vouched'; readonly journey: Journey; readonly vouched: VerifiedIdentity }
  /** It was not begun in this browser, long ago, or has come back already. */
  | { readonly kind: 'lost' }
  /** The user did not sign in there. */
  | { readonly kind: 'declined'; readonly journey: Journey; readonly code: string }
  /** What the provider says cannot be believed. */
  | { readonly kind: 'refused'; readonly journey: Journey; readonly why: string }

/** Throws `ProviderAway` and `ProviderFault`. */
export async function comeBack(
  deps: JourneyDependencies,
  provider: Provider,
  url: URL,
  place: Place,
): Promise<Return> {
  const kept = await takeKept(deps, provider, url.searchParams.get('state') ?? '', place)
  if (!kept) return { kind: 'lost' }
  const { nonce, verifier, ...journey } = kept
  const upstream = await deps.upstreams.open(provider, { mayBeAway: true })
  const { library } = upstream
  try {
    const vouched = await exchange(upstream, url, kept, place.now)
    return { kind: 'vouched', journey, vouched }
  } catch (error) {
    if (findUnreachable(error)) throw asAway(error, provider, place.now)
    const mistaken = findMistaken(error)
    if (mistaken) throw mistaken
    if (error instanceof library.AuthorizationResponseError)
      return { kind: 'declined', journey, code: error.error }
    return { kind: 'refused', journey, why: wordsOf(error) }
  }
}

async function takeKept(
  deps: JourneyDependencies,
  { id }: Provider,
  state: string,
  place: Place,
): Promise<StoredJourney | undefined> {
  const stateHash = sha256(state)
  const values = { stateHash, browserHash: sha256(place.browser), providerId: id }
  const [row] = await deps.db.query(table.takeSignIn, values)
  if (!row || row.startedAt <= after(place.now, -lifetimeMs)) return undefined
  const text = deps.vault.open(purposeOf(stateHash), row.sealed)
  return text === undefined ? undefined : (JSON.parse(text) as StoredJourney)
}

async function exchange(
  upstream: Upstream,
  url: URL,
  { nonce, verifier, asked }: StoredJourney,
  now: Date,
): Promise<VerifiedIdentity> {
  const { library, configuration, provider } = upstream
  const { maxAgeSeconds } = asked
  const tokens = await library.authorizationCodeGrant(configuration, url, {
    pkceCodeVerifier: verifier,
    expectedState: url.searchParams.get('state')!,
    expectedNonce: nonce,
    idTokenExpected: true,
    ...(maxAgeSeconds !== undefined && { maxAge: maxAgeSeconds }),
  })
  const idClaims = tokens.claims()!
  const signIn = parseIdToken(idClaims, provider, now)
  const person = parsePerson(idClaims, await askUserInfo(upstream, idClaims, tokens.access_token), provider)
  return { ...signIn, ...person, idToken: tokens.id_token! }
}

/**
 * Some providers say there what is not in the ID token. It counts where it is of the same subject (OpenID
 * Connect Core 5.3.2).
 */
async function askUserInfo(
  { library, configuration, metadata, provider }: Upstream,
  claims: { readonly sub: string; readonly [name: string]: unknown },
  accessToken: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { needed, wanted } = claimsOf(provider)
  const isMissing = (name: string) => claims[name] === undefined
  const missing = [...needed, ...wanted].filter(isMissing)
  if (missing.length === 0 || metadata.userinfo_endpoint === undefined) return {}
  try {
    return await library.fetchUserInfo(configuration, accessToken, claims.sub)
  } catch (error) {
    // No user is kept out for want of a name, unless the answer is about another subject.
    if (!needed.some(isMissing) && !isOfAnother(error)) return {}
    throw error
  }
}

function isOfAnother(error: unknown): boolean {
  return codeOf(error) === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'
}

interface Fault extends Error, ErrorResponse {
  readonly code?: string
  /** Of an answer that refuses; what it says stands in its body, or in its challenges. */
  readonly status?: number
}

interface ErrorResponse {
  readonly error?: string
  readonly error_description?: string
}

/** For the audit log: what the provider answered, or what the library found and about which part. */
function wordsOf(fault: unknown): string {
  const { message, code, cause, status, ...body } = fault as Fault
  if (status !== undefined) {
    const response: ErrorResponse = Array.isArray(cause) ? { ...cause[0]?.parameters } : body
    const words = [status, response.error, response.error_description].filter((each) => each !== undefined)
    return cut(`it answered ${words.join(' ')}`, 300)
  }
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  return `${message}${why}${code === undefined ? '' : ` (${code})`}`
}

/** What its keys turned out to be while a token was checked. */
function findMistaken(error: unknown): ProviderFault | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof ProviderFault) return each
  return undefined
}

function asAway(error: unknown, provider: Provider, now: Date): unknown {
  const unreachable = findUnreachable(error)
  return unreachable ? new ProviderAway(provider, provider.awaySince ?? now, unreachable.message) : error
}

export function removeOldSignIns(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldSignIns, { until: after(now, -lifetimeMs), most })
}
