/**
 * Spec 4.1: the authorization request. It is judged in one order: first everything that decides whether the
 * callback can be trusted (those faults are shown to the person, never redirected), then the rest (told to
 * the callback). A sound request travels through login and consent sealed in the address: the server keeps
 * nothing of it.
 */
import { randomBytes } from 'node:crypto'
import { after, minute, second } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import { encodeFormBytes, type Form, repeatable, resourcesOf } from '../http/form.ts'
import type { Registration } from '../partners/client.ts'
import { printDescription } from '../problem.ts'
import { type Acr, acrs, parseAcrs, printAcr } from '../vocabulary/acr.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { covers, parseScopes, type Scope } from '../vocabulary/scope.ts'
import { requireInForce } from './client-directory.ts'
import { OAuthError, type OAuthErrorCode } from './oauth-error.ts'
import { type DemandName, demandError, profileOf, weightOf } from './profile.ts'

/**
 * Whatever these allow fits into the head of a request, which has 16 KiB: in an address a character that
 * takes three or four bytes of UTF-8 takes up to twelve, any other up to six. Every `state` of 2,048 bytes is
 * allowed.
 */
export const stateMaxCharacters = 2_048
/** However wide they are. */
export const stateWideLength = 1_280
/** Those beyond U+07FF, in a longer one. */
export const stateWideCharacters = 512
/**
 * For schemas: what `findStateFault` lets pass, but for `stateMaxCharacters`. No repetition is beyond what
 * RE2 takes.
 */
export const statePattern = [
  `^(?:[^\\u0000-\\u001f\\u007f]{1,${stateWideLength / 2}}[^\\u0000-\\u001f\\u007f]{0,${stateWideLength / 2}}`,
  `(?:[ -~\\u0080-\\u07ff]*[^\\u0000-\\u07ff]){0,${stateWideCharacters}}[ -~\\u0080-\\u07ff]*)$`,
].join('|')
const answerWithinMs = 30 * minute
/** FAPI 2.0 SP 5.3.2.2 wants less than ten minutes; half a minute is too short for a phone. */
export const pushedLivesMs = 90 * second

export interface AuthorizationRequest {
  readonly id: string
  readonly clientId: string
  readonly callbackUrl: string
  readonly scopes: readonly Scope[]
  /** The bytes of `state`, a character a byte. */
  readonly state: string | undefined
  /** It came by /v1/oauth/par, from the client itself (RFC 9126). */
  readonly pushed: boolean
  /** The key that the code is bound to (RFC 9449, 10). */
  readonly dpopJkt: string | undefined
  readonly codeChallenge: string | undefined
  /** RFC 8707; none: for all. */
  readonly resources: readonly string[]
  /** RFC 9470: how long ago the user may have signed in, and the ways in, of which one is enough. */
  readonly maxAgeSeconds: number | undefined
  readonly acrs: readonly Acr[]
  readonly receivedAt: number
}

export type JudgedRequest =
  | {
      readonly kind: 'sound'
      readonly request: AuthorizationRequest
      /** What its profile will demand, and was not met. */
      readonly noted: readonly DemandName[]
    }
  | { readonly kind: 'refused'; readonly error: OAuthError; readonly state: string | undefined }

/** Faults that must not redirect: throws what the person is shown. */
export function checkRecipient(
  query: Form,
  client: Registration | undefined,
  environment: Environment,
): Registration {
  const clientId = query.client_id
  if (clientId === undefined || clientId === '')
    throw new OAuthError('invalid_request', 'client_id is missing.')
  if (Array.isArray(clientId)) throw new OAuthError('invalid_request', 'client_id was sent more than once.')
  if (!client || client.environment !== environment) {
    throw new OAuthError(
      'invalid_request',
      `client_id names no application that is registered in this environment (${environment}).`,
    )
  }
  requireInForce(client)
  const { redirect_uri } = query
  if (redirect_uri !== undefined && redirect_uri !== client.callbackUrl) {
    throw new OAuthError(
      'invalid_request',
      'redirect_uri differs from the callback URL registered for this application. They must be equal, character by character.',
    )
  }
  return client
}

/** What was sent. */
interface Sent {
  readonly query: Form
  /** The same with the bytes of each value kept. */
  readonly bytes: Form
  /** By the client itself, which has proved who it is. */
  readonly pushed: boolean
}

/** Everything else. */
export function judgeRequest(sent: Sent, client: Registration, now: Date): JudgedRequest {
  const { query, bytes, pushed } = sent
  const state =
    typeof bytes.state === 'string' && findStateFault(bytes.state, textOf(query.state) ?? '') === undefined
      ? bytes.state || undefined
      : undefined
  const profile = profileOf(client, now)
  const unmet = findUnmet(sent)
  const demanded = unmet.find((name) => weightOf(name, profile) === 'demanded')
  const malformed = findMalformed(query, bytes)
  if (malformed) return { kind: 'refused', error: new OAuthError(...malformed), state }
  if (demanded) return { kind: 'refused', error: demandError(demanded), state }
  const fault = findFault(query)
  if (fault) return { kind: 'refused', error: new OAuthError(...fault), state }

  const parsed = parseScopes(textOf(query.scope) ?? '')
  if (parsed.kind === 'none')
    return { kind: 'refused', error: new OAuthError('invalid_scope', 'scope is missing.'), state }
  if (parsed.kind === 'unknown') {
    return {
      kind: 'refused',
      error: new OAuthError(
        'invalid_scope',
        'scope has a word that is none of read, write, market, trade, stream.',
      ),
      state,
    }
  }
  if (!covers(client.scopes, parsed.scopes)) {
    const allowed = client.scopes.join(' ')
    return {
      kind: 'refused',
      error: new OAuthError('invalid_scope', `This application may ask for: ${allowed}.`),
      state,
    }
  }
  const request: AuthorizationRequest = {
    id: randomBytes(16).toString('base64url'),
    clientId: client.id,
    callbackUrl: client.callbackUrl,
    scopes: parsed.scopes,
    state,
    pushed,
    dpopJkt: textOf(query.dpop_jkt),
    codeChallenge: textOf(query.code_challenge),
    resources: resourcesOf(query),
    maxAgeSeconds: query.max_age === undefined ? undefined : Number(query.max_age),
    acrs: parseAcrs(textOf(query.acr_values) ?? ''),
    receivedAt: now.getTime(),
  }
  return { kind: 'sound', request, noted: unmet.filter((name) => weightOf(name, profile) === 'noted') }
}

function findUnmet({ query, bytes, pushed }: Sent): DemandName[] {
  const unmet: DemandName[] = []
  if (!pushed) unmet.push('pushed')
  if (pushed && query.response_type === undefined) unmet.push('response-type')
  if (pushed && query.redirect_uri === undefined) unmet.push('callback')
  if (!textOf(bytes.state)) unmet.push('state')
  if (pushed && query.code_challenge === undefined) unmet.push('challenge')
  return unmet
}

type Fault = [OAuthErrorCode, string]

function findMalformed(query: Form, bytes: Form): Fault | undefined {
  const repeated = Object.keys(query).find((name) => name !== repeatable && Array.isArray(query[name]))
  if (repeated !== undefined) return ['invalid_request', 'A parameter was sent more than once.']
  const { response_type } = query
  if (response_type !== undefined && response_type !== 'code')
    return ['unsupported_response_type', 'response_type must be code.']
  const stateFault = findStateFault(textOf(bytes.state), textOf(query.state) ?? '')
  return stateFault === undefined ? undefined : ['invalid_request', stateFault]
}

function findFault(query: Form): Fault | undefined {
  const { scope, code_challenge_method, dpop_jkt } = query
  const code_challenge = textOf(query.code_challenge)
  if (scope === undefined) return ['invalid_scope', 'scope is missing.']
  if (dpop_jkt !== undefined && !/^[A-Za-z0-9_-]{43}$/.test(textOf(dpop_jkt) ?? ''))
    return ['invalid_request', 'dpop_jkt must be the thumbprint of a key (RFC 7638), 43 characters.']
  if (!/^\d{1,9}$/.test(textOf(query.max_age) ?? '0'))
    return ['invalid_request', 'max_age must be a number of seconds.']
  const ways = textOf(query.acr_values)
  if (ways !== undefined && parseAcrs(ways).length === 0)
    return [
      'unmet_authentication_requirements',
      `acr_values names no way to sign in here. There are: ${acrs.map(printAcr).join(', ')}.`,
    ]
  if (code_challenge === undefined && code_challenge_method === undefined) return undefined
  if (code_challenge_method !== 'S256') return ['invalid_request', 'code_challenge_method must be S256.']
  if (!/^[A-Za-z0-9_-]{43}$/.test(code_challenge ?? '')) {
    return ['invalid_request', 'code_challenge must be the base64url form of a SHA-256 hash (43 characters).']
  }
  return undefined
}

/** What was sent once. */
function textOf(value: Form[string] | undefined): string | undefined {
  return Array.isArray(value) ? undefined : value
}

function findStateFault(bytes: string | undefined, text: string): string | undefined {
  if (bytes === undefined) return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused.
  if (/[\x00-\x1f\x7f]/.test(bytes)) return 'state must not contain control characters.'
  const characters = [...text]
  if (characters.length > stateMaxCharacters)
    return `state must have at most ${stateMaxCharacters} characters.`
  const wide = characters.filter((character) => character > '\u07ff')
  if (characters.length > stateWideLength && wide.length > stateWideCharacters)
    return `state must have at most ${stateWideLength} characters when more than ${stateWideCharacters} of them take three bytes or more in UTF-8.`
  return undefined
}

/** One that was pushed is answered by nobody until the browser has come with it. */
type Stage = 'authorization-request' | 'pushed-request'

interface Seal {
  readonly vault: Vault
  readonly environment: Environment
}

function seal({ vault, environment }: Seal, stage: Stage, request: AuthorizationRequest): string {
  return vault.seal(`${stage}:${environment}`, JSON.stringify(request)).toString('base64url')
}

function unseal(
  { vault, environment }: Seal,
  stage: Stage,
  sealed: string,
): AuthorizationRequest | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  // Decoding skips what is not base64url; only the one spelling that was issued may travel on into a
  // Location.
  const text =
    bytes.toString('base64url') === sealed ? vault.open(`${stage}:${environment}`, bytes) : undefined
  return text === undefined ? undefined : (JSON.parse(text) as AuthorizationRequest)
}

export function sealRequest(deps: Seal, request: AuthorizationRequest): string {
  return seal(deps, 'authorization-request', request)
}

const requestUriPrefix = 'urn:ietf:params:oauth:request_uri:'

export function printRequestUri(deps: Seal, request: AuthorizationRequest): string {
  return requestUriPrefix + seal(deps, 'pushed-request', request)
}

/** Whoever pushed it, however long ago; undefined where it was not sealed here. */
export function openRequestUri(deps: Seal, requestUri: string): AuthorizationRequest | undefined {
  return requestUri.startsWith(requestUriPrefix)
    ? unseal(deps, 'pushed-request', requestUri.slice(requestUriPrefix.length))
    : undefined
}

/** Undefined when it was not sealed here, or when its time to be answered is over. */
export function unsealRequest(deps: Seal, sealed: string, now: Date): AuthorizationRequest | undefined {
  const request = unseal(deps, 'authorization-request', sealed)
  return request && now < after(new Date(request.receivedAt), answerWithinMs) ? request : undefined
}

/** Spec 4.2: the registered callback, byte for byte, with our parameters behind whatever query it has. */
export function printCallback(
  callbackUrl: string,
  parameters: Record<string, string>,
  state: string | undefined,
): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  if (state !== undefined) pairs.splice(1, 0, `state=${encodeFormBytes(state)}`)
  return openQuery(callbackUrl) + pairs.join('&')
}

/** The callback, as far as the first of our parameters. */
export function openQuery(callbackUrl: string): string {
  return callbackUrl + (!callbackUrl.includes('?') ? '?' : /[?&]$/.test(callbackUrl) ? '' : '&')
}

export function printErrorCallback(
  callbackUrl: string,
  error: OAuthError,
  state: string | undefined,
  issuer: string,
): string {
  const error_description = printDescription(error.message)
  return printCallback(callbackUrl, { error: error.code, error_description, iss: issuer }, state)
}
