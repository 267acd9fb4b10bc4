/** Opens everything in order and closes it in reverse. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openChainCheck } from '../audit/chain-check.ts'
import { openActiveBrands } from '../brands/active-brands.ts'
import { openImages } from '../brands/image.ts'
import { type Clock, second } from '../clock.ts'
import { repeat } from '../concurrency/repeat.ts'
import { openRerun } from '../concurrency/rerun.ts'
import type { SharedContext } from '../context.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Changes, everything, keysRotated, openChanges } from '../database/changes.ts'
import { type Database, DatabaseUnavailable } from '../database/database.ts'
import { declareHeldKeys, openKeys } from '../database/keys.ts'
import { openRounds } from '../database/rounds.ts'
import { openSharedClock, type SharedClock } from '../database/shared-clock.ts'
import { openStorage, type Storage } from '../database/storage.ts'
import { byTurns, openTurns } from '../database/turns.ts'
import { openLog } from '../http/log.ts'
import { openRateLimits } from '../http/rate-limits.ts'
import { openSchemaCompilers, type SchemaCompilers } from '../http/schema-compilers.ts'
import { closeServer } from '../http/server.ts'
import { openProviders } from '../identity/open-providers.ts'
import { openMetricsServer } from '../metrics/server.ts'
import { openActivity } from '../oauth/activity.ts'
import { openBearers } from '../oauth/bearer.ts'
import { openKnownClients, openKnownServices } from '../oauth/client-authentication.ts'
import { openClientDirectory } from '../oauth/client-directory.ts'
import { openClientTokens } from '../oauth/client-tokens.ts'
import { openLastUse } from '../oauth/last-use.ts'
import { openOpaqueTags } from '../oauth/opaque-tags.ts'
import { openUsedProofs } from '../oauth/used-proofs.ts'
import { openCallLog } from '../partners/call-log.ts'
import type { Config } from '../settings/config.ts'
import { messageOf } from '../text/thrown.ts'
import type { Tracing } from '../tracing/tracing.ts'
import { openPasswords, type Passwords } from '../users/password.ts'
import { environments, type NodeAddresses } from '../vocabulary/environment.ts'
import { type Announcer, openAnnouncer } from '../webhooks/events/announcer.ts'
import { openBranchSignal } from '../webhooks/events/branch-signal.ts'
import { openDaysAhead } from '../webhooks/events/days.ts'
import { isDistributed, learnLayout, learnServers } from '../webhooks/events/part.ts'
import { openPublisher } from '../webhooks/events/publisher.ts'
import { openSignal } from '../webhooks/events/signal.ts'
import { openAttemptCounter } from '../webhooks/health/webhook-counts.ts'
import { openSecretKeeper } from '../webhooks/subscriptions/signing-secrets.ts'
import { keepHeapSmall } from './heap.ts'
import { openHousekeeping } from './housekeeping.ts'
import { internalAddress, openInternalApp } from './internal.ts'
import { type ListenerAddress, listen } from './listen.ts'
import { openMutual } from './mutual.ts'
import { alone, type Sibling } from './sibling.ts'
import { addressOf, openApp, openSite } from './site.ts'
import { openAlerts, openAuditPush, openClientKeys, openDelivery, openNotices } from './worker-role.ts'

export interface Gateway {
  readonly baseUrl: string
  readonly sandboxUrl: string
  /** Where the brokerage's own systems call. */
  readonly internalUrl: string
  /** Where Prometheus asks. */
  readonly metricsUrl: string | undefined
  readonly context: SharedContext
  close(): Promise<void>
}

interface GatewayOptions {
  readonly clock?: Clock
  readonly log?: Logger
  /** How long a lane that has run dry is kept. */
  readonly lingerMs?: number
  /** Given where guessing them need not be dear. */
  readonly passwords?: Passwords
  /** Given where several gateways share them. */
  readonly compilers?: SchemaCompilers
  /** Given to one of several processes behind one port. */
  readonly sibling?: Sibling
  /** Given where it is being opened already. */
  readonly storage?: Promise<Storage>
  /** Given where a database that answers late is not to be taken for one that is away. */
  readonly databaseTimeoutMs?: number
}

const streamsPerBranch = 20
const waitsPerBranch = 20
const listenersPerService = 200

export async function openGateway(config: Config, options: GatewayOptions = {}): Promise<Gateway> {
  keepHeapSmall()
  const { log = openLog(config.logLevel), sibling = alone } = options
  const closers: Closers = []
  const closing = new AbortController()
  const close = async () => {
    closing.abort()
    const failures: unknown[] = []
    for (const closer of closers.splice(0).reverse())
      await closer().catch((error: unknown) => failures.push(error))
    // A worker that could not report to the database that it leaves is evicted by the others soon.
    const unexpected = failures.filter((error) => !(error instanceof DatabaseUnavailable))
    if (unexpected.length > 0) throw new AggregateError(unexpected, 'Not everything could be closed.')
  }
  const purpose = options.sibling ? 'child' : 'serve'
  const warn = (message: string) => log.warn(message)
  const opening = options.storage ?? openStorage(config, purpose, warn, options.databaseTimeoutMs)
  closers.push(() =>
    opening.then(
      (storage) => storage.close(),
      () => {},
    ),
  )
  try {
    const tracing = await openTracing(config, log)
    if (tracing) closers.push(tracing.close)
    const storage = await opening
    const { db } = storage
    await learnLayout(db)
    if (isDistributed())
      closers.push(repeat(log, 'servers of parts', 10 * second, () => learnServers(db)).stop)
    const vault = await openKeys(db, config.keySource)
    const streamDb = byTurns(storage.streamDb, openTurns(config.streamConnections))
    const clock = options.clock ?? (await openClock(db, closers))
    const changes = await openChanges(storage, (listener) => declareHeldKeys(listener, vault))
    closers.push(changes.close)
    const rereading = openKeyReading(vault, changes, log)
    closers.push(rereading.ended)
    changes.subscribe((tag) => {
      if (tag === keysRotated || tag === everything) rereading.call()
    })
    // As OpenTelemetry: loaded only where the operator has asked for it.
    const metrics =
      config.metrics &&
      (await import('../metrics/metrics.ts')).openMetrics({ db, streamDb }, clock, config.auditPush?.address)
    // A day is opened on all servers of parts at once: while one is away, those that were opened ahead do.
    await openDaysAhead(db, clock.now()).catch((error: unknown) => {
      if (!isDistributed()) throw error
      log.warn({ err: error }, 'the next days could not be opened; it is tried again')
    })
    const announcer = openAnnouncer(db, clock)
    const passwords = options.passwords ?? openPasswords(config.limits.passwordChecksAtOnce)
    const opened = {
      ...{
        config,
        clock,
        log,
        metrics,
        tracing,
        db,
        streamDb,
        changes,
        vault,
        passwords,
        closing: closing.signal,
      },
    }
    const shared = openShared(opened, announcer, sibling)
    closers.push(shared.chainCheck.close)
    await Promise.all(environments.map((each) => shared.brands.find(each)))
    const rounds = openRounds(shared)
    closers.push(rounds.close, openHousekeeping(shared, rounds, sibling.keepsHouse).close)
    if (config.roles.includes('worker'))
      closers.push(openDelivery(shared, announcer, rounds, options.lingerMs))
    const { live, sandbox, internal } = await openListeners(shared, sibling, closers, options.compilers)
    const metricsServer =
      metrics && config.metrics && !options.sibling && (await openMetricsServer(metrics, config.metrics))
    if (metricsServer) closers.push(metricsServer.close)
    if (config.roles.includes('worker'))
      for (const open of [openNotices, openAlerts, openAuditPush, openClientKeys])
        closers.push(open(shared, { live, sandbox }, rounds))
    const metricsUrl = metricsServer ? metricsServer.url : undefined
    return { baseUrl: live, sandboxUrl: sandbox, internalUrl: internal, metricsUrl, context: shared, close }
  } catch (error) {
    await close()
    throw error
  }
}

type Closers = (() => Promise<void>)[]

type BaseContext = Pick<
  SharedContext,
  | 'config'
  | 'clock'
  | 'log'
  | 'metrics'
  | 'tracing'
  | 'db'
  | 'streamDb'
  | 'changes'
  | 'vault'
  | 'passwords'
  | 'closing'
>

/** What both sites, the rounds and the worker have in common. */
function openShared(base: BaseContext, announcer: Announcer, sibling: Sibling): SharedContext {
  const { config, clock, log, metrics, db, changes, vault } = base
  const clients = openClientDirectory(db, changes)
  return {
    ...base,
    streamTurns: openTurns(config.streamConnections),
    clients,
    knownClients: openKnownClients(clients, changes),
    services: openKnownServices(db, changes),
    bearers: openBearers(db, changes, clock),
    clientTokens: openClientTokens(db, changes, clock),
    usedProofs: openUsedProofs(db),
    spentProofs: sibling.openSpentProofs(clock),
    opaqueTags: openOpaqueTags(vault),
    lastUse: openLastUse(db),
    activity: openActivity(db),
    attemptCounter: openAttemptCounter(db),
    ...openRateLimits(clock, config.limits, sibling.openTally),
    publisher: openPublisher(db, announcer),
    streams: sibling.openPlaces('streams', streamsPerBranch),
    waits: sibling.openPlaces('waits', waitsPerBranch),
    listeners: sibling.openPlaces('listeners', listenersPerService),
    brands: openActiveBrands(db, changes),
    images: openImages(db, changes),
    upstreams: openProviders(base),
    guard: config.webhooks,
    eventSignal: openSignal(),
    branchSignal: openBranchSignal(),
    numbering: announcer,
    callLog: openCallLog(db, clock, log, metrics?.callsLeftOut),
    signingSecrets: openSecretKeeper(db, vault, changes),
    chainCheck: openChainCheck({ db, vault, clock, log, file: config.auditAnchorFile }),
  }
}

/** Answers their addresses; each site knows the other's too. */
async function openListeners(
  shared: SharedContext,
  sibling: Sibling,
  closers: Closers,
  compilers = openSchemaCompilers(),
): Promise<NodeAddresses> {
  const { sites } = shared.config
  const openAt = async (app: FastifyInstance, address: ListenerAddress) => {
    closers.push(() => closeServer(app, shared.config.limits.requestTimeoutMs))
    return listen(app, address)
  }
  const live = openSite(shared, sites[0], sibling)
  const sandbox = openSite(shared, sites[1], sibling)
  for (const [context, site] of [[live, sites[0]] as const, [sandbox, sites[1]] as const]) {
    const app = await openApp(context, site, compilers)
    const url = await openAt(app, addressOf(shared.config, site))
    context.baseUrl = site.baseUrl === '' ? url : site.baseUrl
    context.mtlsUrl = await openMutual(app, shared.config, site, context.baseUrl)
  }
  live.sisterUrl = sandbox.baseUrl
  sandbox.sisterUrl = live.baseUrl
  const internal = await openAt(
    await openInternalApp({ live, sandbox }, compilers),
    internalAddress(shared.config),
  )
  return { live: live.baseUrl, sandbox: sandbox.baseUrl, internal }
}

/** OpenTelemetry is large: without an address to send to, not a byte of it is loaded. */
async function openTracing({ tracing }: Config, log: Logger): Promise<Tracing | undefined> {
  return tracing && (await import('../tracing/open-telemetry.ts')).openTracing(tracing, log)
}

/** Every key that this node has stays where they cannot be read. */
function openKeyReading(vault: Vault, changes: Changes, log: Logger) {
  return openRerun(
    () => vault.reload().then(changes.declare),
    (error) => log.error(`the keys cannot be read again: ${messageOf(error)}`),
  )
}

async function openClock(db: Database, closers: Closers): Promise<SharedClock> {
  const clock = await openSharedClock(db)
  closers.push(async () => clock.close())
  return clock
}
