/**
 * What the profile of a client demands at each endpoint: `standard` is the contract, `fapi2` is FAPI 2.0
 * (Security ClientProfile, Final), and a client that is moving is held to the first while its calls are told what
 * the second would refuse. This table is the only place where profiles differ.
 */

import { minute, second } from '../clock.ts'
import type { Client } from '../partners/client.ts'
import { OAuthError, type OAuthErrorCode } from './oauth-error.ts'

const profiles = ['standard', 'moving', 'fapi2'] as const
export type ClientProfile = (typeof profiles)[number]

/** It moves by the clock: nobody has to write that down. */
export function profileOf({ fapi2From }: Pick<Client, 'fapi2From'>, now: Date): ClientProfile {
  if (fapi2From === null) return 'standard'
  return fapi2From <= now ? 'fapi2' : 'moving'
}

type Weight = 'free' | 'noted' | 'demanded'

interface Demand {
  readonly weights: Readonly<Record<ClientProfile, Weight>>
  /** Where it is asked for. */
  readonly at: string
  readonly source: string
  readonly error: OAuthErrorCode
  readonly text: string
}

const ofFapi2 = { standard: 'free', moving: 'noted', fapi2: 'demanded' } as const
const ofContract = { standard: 'demanded', moving: 'demanded', fapi2: 'free' } as const

const demands = {
  key: {
    weights: ofFapi2,
    at: 'wherever the client says who it is',
    source: 'FAPI 2.0 SP 5.3.2.1',
    error: 'invalid_client',
    text: 'This application has no client secret: it signs in with private_key_jwt or with its certificate.',
  },
  pushed: {
    weights: ofFapi2,
    at: '/v1/oauth/authorize',
    source: 'FAPI 2.0 SP 5.3.2.2',
    error: 'invalid_request',
    text: 'This application sends its requests to /v1/oauth/par first, and here client_id and request_uri alone.',
  },
  'response-type': {
    weights: ofFapi2,
    at: '/v1/oauth/par',
    source: 'FAPI 2.0 SP 5.3.2.2',
    error: 'invalid_request',
    text: 'response_type is missing. It must be code.',
  },
  callback: {
    weights: ofFapi2,
    at: '/v1/oauth/par',
    source: 'FAPI 2.0 SP 5.3.2.2',
    error: 'invalid_request',
    text: 'redirect_uri is missing. It must be the registered callback URL.',
  },
  challenge: {
    weights: ofFapi2,
    at: '/v1/oauth/par',
    source: 'FAPI 2.0 SP 5.3.2.2, RFC 7636',
    error: 'invalid_request',
    text: 'code_challenge is missing, with code_challenge_method=S256 (PKCE).',
  },
  state: {
    weights: ofContract,
    at: '/v1/oauth/authorize',
    source: 'docs/interface.md 4.1',
    error: 'invalid_request',
    text: 'state is missing.',
  },
  verifier: {
    weights: ofFapi2,
    at: '/v1/oauth/accesstoken',
    source: 'FAPI 2.0 SP 5.3.2.2, RFC 7636',
    error: 'invalid_grant',
    text: 'code_verifier is missing (PKCE).',
  },
  binding: {
    weights: ofFapi2,
    at: '/v1/oauth/accesstoken and /v1/oauth/refreshtoken',
    source: 'FAPI 2.0 SP 5.3.2.1, RFC 9449 5, RFC 8705 3',
    error: 'invalid_request',
    text: 'Access tokens of this application are bound to their sender: send a proof in the DPoP header, or come with a certificate.',
  },
} as const satisfies Record<string, Demand>

export type DemandName = keyof typeof demands
export const demandNames = Object.keys(demands) as DemandName[]

export function demandError(name: DemandName): OAuthError {
  return new OAuthError(demands[name].error, demands[name].text, `fapi-${name}`)
}

export function weightOf(name: DemandName, profile: ClientProfile): Weight {
  return demands[name].weights[profile]
}

interface Terms {
  readonly codeMs: number
  /** Whether the client's own choice to rotate refresh tokens counts (FAPI 2.0 SP 5.3.2.1 has none). */
  readonly mayRotate: boolean
  /** Whether it gets tokens of its own, for its webhooks. */
  readonly ownTokens: boolean
}

const ofBothWays: Terms = { codeMs: 10 * minute, mayRotate: true, ownTokens: false }

export const terms: Readonly<Record<ClientProfile, Terms>> = {
  standard: ofBothWays,
  moving: ofBothWays,
  fapi2: { codeMs: 60 * second, mayRotate: false, ownTokens: true },
}
