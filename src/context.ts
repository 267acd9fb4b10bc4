/**
 * What every route needs, opened once by the gateway. The live and the sandbox site share all
 * but what belongs to one site.
 */
import type { Logger } from 'pino'
import type { ChainCheck } from './audit/chain-check.ts'
import type { ActiveBrands } from './brands/active-brands.ts'
import type { ImageStore } from './brands/image.ts'
import type { Clock } from './clock.ts'
import type { TokenSigner } from './crypto/token-signer.ts'
import type { Vault } from './crypto/vault.ts'
import type { Changes } from './database/changes.ts'
import type { Database } from './database/database.ts'
import type { Turns } from './database/turns.ts'
import type { Places } from './http/places.ts'
import type { RateLimit } from './http/rate-limit.ts'
import type { RateLimits } from './http/rate-limits.ts'
import type { Upstreams } from './identity/upstream.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { GuardPolicy } from './network/address-guard.ts'
import type { Activity } from './oauth/activity.ts'
import type { Bearers } from './oauth/bearer.ts'
import type { KnownClients, KnownServices } from './oauth/client-authentication.ts'
import type { ClientDirectory } from './oauth/client-directory.ts'
import type { ClientTokens } from './oauth/client-tokens.ts'
import type { CodeExchange } from './oauth/code-exchange.ts'
import type { DpopNonces } from './oauth/dpop-nonce.ts'
import type { LastUse } from './oauth/last-use.ts'
import type { OpaqueTags } from './oauth/opaque-tags.ts'
import type { TokenRefresh } from './oauth/refresh-token.ts'
import type { SpentProofs } from './oauth/spent-proofs.ts'
import type { UsedProofs } from './oauth/used-proofs.ts'
import type { CallLog } from './partners/call-log.ts'
import type { Config } from './settings/config.ts'
import type { Tracing } from './tracing/tracing.ts'
import type { Passwords } from './users/password.ts'
import type { Profiles } from './users/profile.ts'
import type { Environment } from './vocabulary/environment.ts'
import type { Announcer } from './webhooks/events/announcer.ts'
import type { BranchSignal } from './webhooks/events/branch-signal.ts'
import type { Publisher } from './webhooks/events/publisher.ts'
import type { Signal } from './webhooks/events/signal.ts'
import type { AttemptCounter } from './webhooks/health/webhook-counts.ts'
import type { SecretKeeper } from './webhooks/subscriptions/signing-secrets.ts'

export interface SharedContext extends RateLimits {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  /** Absent when metrics are off. */
  readonly metrics: Metrics | undefined
  /** Absent when traces are not collected. */
  readonly tracing: Tracing | undefined
  readonly db: Database
  /** The same database, for answers that go on: connections of their own, by turns. */
  readonly streamDb: Database
  /** For what such an answer has to ask elsewhere: as many at once as it has connections. */
  readonly streamTurns: Turns
  readonly changes: Changes
  readonly vault: Vault
  readonly passwords: Passwords
  readonly clients: ClientDirectory
  readonly knownClients: KnownClients
  readonly services: KnownServices
  readonly bearers: Bearers
  /** Tokens of clients that have no secret, for their own webhooks. */
  readonly clientTokens: ClientTokens
  /** Assertions and proofs that were taken: by all nodes, and at resources by this process. */
  readonly usedProofs: UsedProofs
  readonly spentProofs: SpentProofs
  /** What bearers depend on, in the words of one service. */
  readonly opaqueTags: OpaqueTags
  readonly lastUse: LastUse
  readonly activity: Activity
  /** What charts show of the attempts that are made here. */
  readonly attemptCounter: AttemptCounter
  readonly publisher: Publisher
  /** Event streams, and test hooks that wait for their outcome, of one branch. */
  readonly streams: Places
  readonly waits: Places
  /** Streams of revocations, of one service. */
  readonly listeners: Places
  /** Who the brokerage is on each site, and the images that were uploaded. */
  readonly brands: ActiveBrands
  readonly images: ImageStore
  /** The brokerage's identity providers, as they say they are. */
  readonly upstreams: Upstreams
  /** Where webhooks may go. */
  readonly guard: GuardPolicy
  /** Fires when events may have arrived. */
  readonly eventSignal: Signal
  /** The same by branch, for connections that follow its log. */
  readonly branchSignal: BranchSignal
  /** For callers that want to see at once what becomes of what they have published. */
  readonly numbering: Announcer
  /** The calls of partners' clients. */
  readonly callLog: CallLog
  /** What signs the deliveries of each webhook. */
  readonly signingSecrets: SecretKeeper
  /** The verification of the audit chain that runs here, or ran last. */
  readonly chainCheck: ChainCheck
  /** Aborted when the gateway begins to close. */
  readonly closing: AbortSignal
}

export interface Context extends SharedContext {
  readonly environment: Environment
  /** The origin clients use, which is also the issuer; known once the server listens. */
  readonly baseUrl: string
  /** The origin for clients that show a certificate, where it is another. */
  readonly mtlsUrl: string | undefined
  /** The other environment's origin. */
  readonly sisterUrl: string
  readonly codes: CodeExchange
  readonly refreshes: TokenRefresh
  readonly dpopNonces: DpopNonces
  readonly profiles: Profiles
  readonly tokenRate: RateLimit
  /** Signs what the site tells the brokerage's systems; its keys are at /.well-known/jwks.json. */
  readonly signer: TokenSigner
}
