/**
 * Assertions of forward-auth: what the gateway's door told the proxy of a request, signed, for this service
 * and for this one request. Whoever reaches the API past the proxy has none, and the assertion of one request
 * is none of another.
 */
import { hash, type KeyObject } from 'node:crypto'
import type { Access } from './access.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Demand, openDemand, type Requirements } from './demand.ts'
import { type Exchange, openExchange, type Tls } from './exchange.ts'
import { parseAccess } from './introspection.ts'
import { openPublicKeys, type PublicKeys } from './public-keys.ts'
import { type JsonObject, NotUnderstood } from './read-json.ts'
import { type Refusal, unavailable } from './refusal.ts'
import { parseSignedToken, type SignedToken } from './signed-token.ts'
import { Unavailable } from './unavailable.ts'
import type { Judgement, PresentedRequest, Verifier } from './verifier.ts'

export interface AssertionOptions {
  /** The public address of the site whose tokens these are. */
  readonly issuer: string
  /** The id of the service that the proxy asks as. */
  readonly serviceId: string
  /** The hosts, as clients name them, that this API answers for; unless said, the host of each request. */
  readonly hosts?: readonly string[]
  /** Where this API describes itself (RFC 9728): named in every challenge. */
  readonly metadataUrl?: string
  readonly tls?: Tls
  /** For one call of the gateway, for its keys; 5,000 unless said. */
  readonly timeoutMs?: number
  /** A request was answered with 503. */
  readonly onFailure?: (error: Unavailable) => void
  readonly clock?: Clock
}

export const assertionHeader = 'x-countersign-assertion'
const type = 'request-assertion+jwt'
const lengthAtMost = 16 * 1024
/** By which the clocks of two machines may differ. */
const leewayMs = 5_000
const usualTimeoutMs = 5_000

const noAssertion = 'This request carries no assertion of the gateway that is for it.'

export function openAssertions(options: AssertionOptions): Verifier {
  return new Assertions(options)
}

class Assertions implements Verifier {
  readonly #options: AssertionOptions
  readonly #issuer: string
  readonly #hosts: readonly string[] | undefined
  readonly #clock: Clock
  readonly #exchange: Exchange
  readonly #keys: PublicKeys

  constructor(options: AssertionOptions) {
    const { issuer, hosts, tls = {}, timeoutMs = usualTimeoutMs, clock = systemClock } = options
    this.#options = options
    this.#issuer = issuer.replace(/\/$/, '')
    this.#hosts = hosts?.map((host) => host.toLowerCase())
    this.#clock = clock
    this.#exchange = openExchange(tls, timeoutMs)
    this.#keys = openPublicKeys(this.#exchange, issuer, clock)
  }

  demand(requirements: Requirements): Demand {
    return openDemand(requirements, this.#options.metadataUrl)
  }

  judge(
    request: PresentedRequest,
    demand: Demand,
    account: string | undefined,
  ): Judgement | Promise<Judgement> {
    const text = request.headers[assertionHeader]
    // Of two that were sent Node makes one text with a comma, which is none.
    if (typeof text !== 'string' || text === '') return demand.refuse(undefined, noAssertion)
    const token = text.length <= lengthAtMost ? parseSignedToken(text, type) : undefined
    if (!token || !this.#isFor(request, token.claims)) return demand.refuse('invalid_token', noAssertion)
    const finish = (key: KeyObject | undefined) => this.#admit(token, key, demand, account)
    try {
      const key = this.#keys.find(token.kid)
      if (!(key instanceof Promise)) return finish(key)
      return key.then(finish).catch((error: unknown) => this.#excuse(error))
    } catch (error) {
      return this.#excuse(error)
    }
  }

  /** Cheaper than its signature, and as necessary. */
  #isFor({ method, host, target }: PresentedRequest, claims: JsonObject): boolean {
    const nowMs = this.#clock.nowMs()
    const [issuedAtMs, expiresAtMs] = [claims.iat, claims.exp].map(
      (seconds) => Number(seconds ?? Number.NaN) * 1000,
    )
    const hosts = this.#hosts ?? (host === undefined ? [] : [host.toLowerCase()])
    return (
      claims.iss === this.#issuer &&
      claims.aud === this.#options.serviceId &&
      issuedAtMs! <= nowMs + leewayMs &&
      nowMs < expiresAtMs! + leewayMs &&
      hosts.some(
        (each) => claims.request_hash === hash('sha256', `${method}\n${each}\n${target}`, 'base64url'),
      )
    )
  }

  #admit(
    token: SignedToken,
    key: KeyObject | undefined,
    demand: Demand,
    account: string | undefined,
  ): Judgement {
    if (!key || !token.isSignedBy(key)) return demand.refuse('invalid_token', noAssertion)
    const access = readAccess(token.claims)
    if (account !== undefined && !access.accounts)
      throw new Unavailable('The gateway tells this service no accounts: let it see them.')
    return demand.findRefusal(access, account, this.#clock.nowMs()) ?? access
  }

  #excuse(error: unknown): Refusal {
    if (!(error instanceof Unavailable)) throw error
    this.#options.onFailure?.(error)
    return unavailable(error.retryAfterSeconds)
  }

  close(): void {
    this.#exchange.close()
  }
}

/** Signed by the gateway: what it says otherwise than understood here is its fault, and nobody's token is bad. */
function readAccess(claims: JsonObject): Access {
  try {
    // For which service it is was looked at; for which resources the token is, the gateway has.
    return parseAccess({ ...claims, aud: undefined })
  } catch (error) {
    if (error instanceof NotUnderstood)
      throw new Unavailable(`The gateway's assertion cannot be understood. ${error.message}`)
    throw error
  }
}
