import { signatureAlgorithms } from '../crypto/jwk.ts'
import type { ProofRule } from '../partners/proof-causes.ts'
import { Problem, printDescription } from '../problem.ts'
import { type Acr, printAcr } from '../vocabulary/acr.ts'
import { printScopes, type Scope } from '../vocabulary/scope.ts'

/** The closed list of RFC 6749 (5.2 and 4.1.2.1), RFC 7009, RFC 8707 (2), RFC 9470 (5), RFC 9101 (6) and RFC 9449 (12). */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'invalid_target'
  | 'unmet_authentication_requirements'
  | 'invalid_request_uri'
  | 'invalid_dpop_proof'
  | 'use_dpop_nonce'

export class OAuthError extends Problem {
  declare readonly code: OAuthErrorCode
  /** The rule behind it, where neither code nor words tell it. */
  readonly rule: ProofRule | undefined

  constructor(
    code: OAuthErrorCode,
    description: string,
    rule?: ProofRule,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const challenge = { 'www-authenticate': 'Basic realm="countersign", charset="UTF-8"' }
    super(code === 'invalid_client' ? 401 : 400, code, description, {
      headers: code === 'invalid_client' ? challenge : headers,
    })
    this.rule = rule
  }
}

/**
 * What a partner hears of an application that its holder has paused: nothing is lost, and trying again is no
 * use.
 */
export const pausedText = 'The user has paused this application. It works again when the user resumes it.'

export const noAccountText = 'The user no longer holds any of the accounts that this access was given for.'

/** All that was approved was taken back, by the user or by the brokerage. */
export const noScopeText = 'Nothing of what was approved is allowed to this application any more.'

/** What an address asks of a bearer token, and where that is written (RFC 9728, 5.1). */
interface Demand {
  readonly scopes: readonly Scope[]
  readonly metadataUrl?: string | undefined
  /** RFC 9470: how long ago its user may have signed in, and how. */
  readonly maxAgeSeconds?: number | undefined
  readonly acrs?: readonly Acr[]
  /** How the token was sent; undefined where none was, or in no way that is known. */
  readonly scheme?: 'Bearer' | 'DPoP' | undefined
}

const algorithms = `algs="${signatureAlgorithms.join(' ')}"`

/** RFC 9470, 3. */
export const tooWeakSignIn = 'insufficient_user_authentication'

/**
 * RFC 6750, 3: what is wrong with the bearer token that was shown, or was not. It becomes an answer where the
 * address is known, so that no challenge leaves without its demand.
 */
export class BearerError extends Error {
  readonly status: 401 | 403
  readonly code:
    | 'unauthorized'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'invalid_dpop_proof'
    | 'use_dpop_nonce'
    | typeof tooWeakSignIn
  /**
   * The scopes that the token has. A client that asks for what the challenge names gets a token that can do
   * more, not something else.
   */
  readonly held: readonly Scope[]
  /** The rule behind it, where neither code nor words tell it. */
  rule: ProofRule | undefined
  /** The one to prove with (RFC 9449, 9). */
  nonce: string | undefined

  constructor(
    status: BearerError['status'],
    code: BearerError['code'],
    description: string,
    held: readonly Scope[] = [],
  ) {
    super(description)
    this.status = status
    this.code = code
    this.held = held
  }

  challenge(demand: Demand): Problem {
    const problem = new Problem(this.status, this.code, this.message, {
      headers: this.challengeHeaders(demand),
    })
    return this.rule === undefined ? problem : Object.assign(problem, { rule: this.rule })
  }

  challengeHeaders({
    scopes,
    metadataUrl,
    maxAgeSeconds,
    acrs = [],
    scheme,
  }: Demand): Record<string, string> {
    const parameters = ['realm="countersign"']
    if (this.code !== 'unauthorized')
      parameters.push(`error="${this.code}"`, `error_description="${printDescription(this.message)}"`)
    parameters.push(`scope="${printScopes([...scopes, ...this.held])}"`)
    if (this.code === tooWeakSignIn) {
      if (maxAgeSeconds !== undefined) parameters.push(`max_age="${maxAgeSeconds}"`)
      if (acrs.length > 0) parameters.push(`acr_values="${acrs.map(printAcr).join(' ')}"`)
    }
    if (metadataUrl !== undefined) parameters.push(`resource_metadata="${metadataUrl}"`)
    if (scheme === 'DPoP') parameters.push(algorithms)
    // RFC 9449, 7.1: whoever shows nothing is told of both ways.
    if (scheme === undefined && this.code === 'unauthorized') parameters.push(`DPoP ${algorithms}`)
    const challenge = { 'www-authenticate': `${scheme ?? 'Bearer'} ${parameters.join(', ')}` }
    return this.nonce === undefined ? challenge : { ...challenge, 'dpop-nonce': this.nonce }
  }
}
