/**
 * Bearers, verified by introspection and remembered until something that they depend on changes: while the
 * feed tells of every change, a known token costs no call. Nothing but an access is remembered, never a
 * refusal.
 */
import { hash } from 'node:crypto'
import type { Access } from './access.ts'
import { AnswerMemory } from './answer-memory.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Demand, openDemand } from './demand.ts'
import { type Exchange, openExchange, type Tls } from './exchange.ts'
import { openFeed } from './feed.ts'
import { type Credential, type Introspector, openIntrospector } from './gateway.ts'
import { Hearing } from './hearing.ts'
import { type Refusal, unavailable } from './refusal.ts'
import { type Environment, environmentOfSecret, isBearer, tokenLength } from './token-shape.ts'
import { Unavailable } from './unavailable.ts'
import type { Judgement, PresentedRequest, Verifier } from './verifier.ts'

export interface BearerOptions {
  /** The public address of the site whose tokens these are. */
  readonly issuer: string
  /** The address of the gateway's internal listener. */
  readonly internalUrl: string
  readonly credential: Credential
  /** What this API is called in `resource` (RFC 8707): tokens that are for others alone are refused. */
  readonly resource?: string
  /** Where this API describes itself (RFC 9728): named in every challenge. */
  readonly metadataUrl?: string
  readonly tls?: Tls
  /** For what is remembered, roughly; 32 MiB unless said. */
  readonly memoryBytes?: number
  /** For one call of the gateway; 5,000 unless said. */
  readonly timeoutMs?: number
  /** What happens behind requests, for logs and figures. */
  readonly onEvent?: (event: BearerEvent) => void
  readonly clock?: Clock
}

export type BearerEvent =
  /** From here on answers are remembered. */
  | { readonly kind: 'feed-opened' }
  /** Everything is forgotten, and every request asks. */
  | { readonly kind: 'feed-ended'; readonly why: string }
  | { readonly kind: 'changed'; readonly tags: readonly string[] }
  | { readonly kind: 'asked'; readonly isAnew: boolean }
  /** A request was answered with 503. */
  | { readonly kind: 'failed'; readonly error: Unavailable }

const usualMemoryBytes = 32 * 1024 * 1024
const usualTimeoutMs = 5_000

const unknownToken = 'The access token is unknown, expired or revoked.'
const noToken = 'Send an access token in the Authorization header, after the word Bearer.'
const otherResource = 'This token is for other resources.'
const boundToken =
  'This token is bound to its sender, whose proof is not looked at here: this API takes it by way of its proxy alone.'

interface Flight {
  readonly epoch: number
  readonly access: Promise<Access | undefined>
}

export function openBearers(options: BearerOptions): Verifier {
  return new Bearers(options)
}

class Bearers implements Verifier {
  readonly #options: BearerOptions
  readonly #clock: Clock
  readonly #environment: Environment
  readonly #exchange: Exchange
  readonly #introspector: Introspector
  readonly #hearing: Hearing
  readonly #memory: AnswerMemory<Access>
  readonly #flights = new Map<string, Flight>()
  readonly #feed: { close(): void }

  constructor(options: BearerOptions) {
    const { issuer, internalUrl, credential, tls = {}, clock = systemClock } = options
    const { timeoutMs = usualTimeoutMs, memoryBytes = usualMemoryBytes } = options
    const environment = environmentOfSecret(credential.secret)
    if (!environment) throw new TypeError('credential.secret is no secret of a service.')
    this.#options = options
    this.#clock = clock
    this.#environment = environment
    this.#exchange = openExchange(tls, timeoutMs)
    this.#introspector = openIntrospector(this.#exchange, issuer, credential)
    this.#hearing = new Hearing(clock, timeoutMs)
    this.#memory = new AnswerMemory(memoryBytes)
    this.#feed = openFeed({ internalUrl, credential, tls }, this.#hearing, clock, {
      opened: () => this.#tell({ kind: 'feed-opened' }),
      changed: (tags) => {
        for (const tag of tags) this.#memory.forgetTagged(tag)
        this.#tell({ kind: 'changed', tags })
      },
      ended: (why) => {
        this.#memory.forgetEverything()
        this.#tell({ kind: 'feed-ended', why })
      },
    })
  }

  demand(requirements: Parameters<Verifier['demand']>[0]): Demand {
    return openDemand(requirements, this.#options.metadataUrl)
  }

  judge(
    { headers: { authorization } }: PresentedRequest,
    demand: Demand,
    account: string | undefined,
  ): Judgement | Promise<Judgement> {
    const text = typeof authorization === 'string' ? readBearerText(authorization) : undefined
    if (text === undefined) return demand.refuse(undefined, noToken)
    if (text.length !== tokenLength) return demand.refuse('invalid_token', unknownToken)
    const key = hash('sha256', text, 'base64')
    const known = this.#recall(key)
    if (known) return this.#admit(known, demand, account)
    if (!isBearer(text, this.#environment)) return demand.refuse('invalid_token', unknownToken)
    return this.#find(text, key).then(
      (found) => this.#admit(found, demand, account),
      (error: unknown) => this.#excuse(error),
    )
  }

  #recall(key: string): Access | undefined {
    return this.#hearing.isLive ? this.#memory.recall(key) : undefined
  }

  #admit(access: Access | undefined, demand: Demand, account: string | undefined): Judgement {
    const nowMs = this.#clock.nowMs()
    if (!access || nowMs >= access.expiresAtMs) return demand.refuse('invalid_token', unknownToken)
    if (access.isBound) return demand.refuse('invalid_token', boundToken)
    const { resource } = this.#options
    if (access.audience.length > 0 && !(resource !== undefined && access.audience.includes(resource)))
      return demand.refuse('invalid_token', otherResource)
    if (account !== undefined && !access.accounts)
      return this.#excuse(new Unavailable('The gateway tells this service no accounts: let it see them.'))
    return demand.findRefusal(access, account, nowMs) ?? access
  }

  #excuse(error: unknown): Refusal {
    if (!(error instanceof Unavailable)) throw error
    this.#tell({ kind: 'failed', error })
    return unavailable(error.retryAfterSeconds)
  }

  /** Requests share a call of the gateway while nothing was told since it began. */
  #find(text: string, key: string): Promise<Access | undefined> {
    const { epoch, isLive } = this.#hearing
    const underWay = this.#flights.get(key)
    if (isLive && underWay?.epoch === epoch) return underWay.access
    const access = this.#ask(text, key, false).finally(() => {
      if (this.#flights.get(key)?.access === access) this.#flights.delete(key)
    })
    this.#flights.set(key, { epoch, access })
    return access
  }

  async #ask(text: string, key: string, isAnew: boolean): Promise<Access | undefined> {
    const question = this.#hearing.question(isAnew)
    this.#tell({ kind: 'asked', isAnew: question.isAnew })
    const answer = await this.#introspector.introspect(text, question.isAnew)
    if (!answer) return undefined
    const worth = this.#hearing.judge(question, answer.tags)
    if (worth === 'stale') return this.#ask(text, key, true)
    if (worth === 'lasting') this.#memory.keep(key, answer.access, answer.tags, answer.bytes)
    return answer.access
  }

  #tell(event: BearerEvent): void {
    this.#options.onEvent?.(event)
  }

  close(): void {
    this.#feed.close()
    this.#exchange.close()
  }
}

/** RFC 6750, 2.1: the text behind the word Bearer. */
function readBearerText(authorization: string): string | undefined {
  if (authorization.startsWith('Bearer ')) return authorization.slice('Bearer '.length).trim()
  return /^bearer /i.test(authorization) ? authorization.slice('bearer '.length).trim() : undefined
}
