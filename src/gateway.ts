/** Opens everything in order and closes it in reverse. */
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { describeRoutes } from './api/openapi-endpoint.ts'
import { describeRefusal } from './api/refused-call.ts'
import { apiRoutes } from './api/routes.ts'
import { openChainCheck } from './audit/chain-check.ts'
import { type Clock, second } from './clock.ts'
import type { Config, SiteConfig } from './config.ts'
import type { Context, SharedContext } from './context.ts'
import { openVault } from './crypto/vault.ts'
import { openChanges } from './database/changes.ts'
import { type Database, DatabaseUnavailable, statement } from './database/database.ts'
import { openSharedClock, type SharedClock } from './database/shared-clock.ts'
import { byTurns, openTurns } from './database/turns.ts'
import type { OperationSchema } from './described-route.ts'
import { keepHeapSmall } from './heap.ts'
import { openHousekeeping } from './housekeeping.ts'
import type { Refused } from './http/errors.ts'
import { openLog, wideLines } from './http/log.ts'
import { refuseOtherMethods } from './http/methods.ts'
import { openPlaces, type Places } from './http/places.ts'
import { openRateLimit } from './http/rate-limit.ts'
import { openSchemaCompilers, type SchemaCompilers } from './http/schema-compilers.ts'
import { closeServer, openServer } from './http/server.ts'
import { openTally, type Tally } from './http/tally.ts'
import type { CountedRequest } from './metrics/metrics.ts'
import { openMetricsServer } from './metrics/server.ts'
import { openCourier } from './notices/courier.ts'
import { type NoticeToSend, openPost } from './notices/post.ts'
import { openActivity } from './oauth/activity.ts'
import { openCodeExchange } from './oauth/authorization-code.ts'
import { openBearers } from './oauth/bearer.ts'
import { openKnownClients, openServiceDesk } from './oauth/client-authentication.ts'
import { openClientDirectory } from './oauth/client-directory.ts'
import { openLastUse } from './oauth/last-use.ts'
import { openTokenRefresh } from './oauth/refresh-token.ts'
import { openFlightRecorder } from './partners/flight-recorder.ts'
import { watchEndingSecrets } from './partners/secret-notices.ts'
import { openRounds, type Rounds } from './rounds.ts'
import { openStorage, type Storage } from './storage.ts'
import type { Tracing } from './tracing/tracing.ts'
import { openPasswords } from './users/password.ts'
import { openProfiles } from './users/profile.ts'
import { serveAssets } from './web/assets.ts'
import { printErrorPage } from './web/error-page.ts'
import { type Addresses, noticeWords } from './web/notice-words.ts'
import { isHere, leadToLiveSite } from './web/other-site.ts'
import { pageRoutes } from './web/routes.ts'
import { type Announcer, openAnnouncer } from './webhooks/announcer.ts'
import { openSender } from './webhooks/attempt.ts'
import { type AttemptMade, logAttempt } from './webhooks/attempt-made.ts'
import { openBranchSignal } from './webhooks/branch-signal.ts'
import { openDays, openDaysAhead } from './webhooks/days.ts'
import { usualLingerMs } from './webhooks/held-lanes.ts'
import { openPublisher } from './webhooks/publisher.ts'
import { openSignal } from './webhooks/signal.ts'
import { openSecretKeeper } from './webhooks/signing-secrets.ts'
import { watchFailingWebhooks } from './webhooks/webhook-notices.ts'
import { openWorker } from './webhooks/worker.ts'

export interface Gateway {
  readonly baseUrl: string
  readonly sandboxUrl: string
  /** Where Prometheus asks. */
  readonly metricsUrl: string | undefined
  readonly context: SharedContext
  close(): Promise<void>
}

export interface GatewayOptions {
  readonly clock?: Clock
  readonly log?: Logger
  /** How long a lane that has run dry is kept. */
  readonly lingerMs?: number
  /** Given to one of several processes behind one port. */
  readonly sibling?: Sibling
  /** Given where it is being opened already. */
  readonly storage?: Promise<Storage>
}

/** Of several processes this one. The private server and the address for Prometheus are their parent's, who counts for all of them. */
export interface Sibling {
  /** Does what is done once for all of them. */
  readonly keepsHouse: boolean
  /** `tell`: what the others count is known here before anybody asks. */
  openTally(limit: string, tell: boolean): Tally
  openPlaces(places: string, most: number): Places
}

/** The only process there is. */
const alone: Sibling = { keepsHouse: true, openTally, openPlaces: (_, most) => openPlaces(most) }

/** A site's context whose addresses are filled in once its server listens. */
type OpeningContext = { -readonly [Key in keyof Context]: Context[Key] }

const tooManyFailures = 'There were too many failed client authentications. Check the credentials and wait a minute.'
const tooManyTestHooks = 'This branch has sent as many test hooks as it may in a minute. Wait for the next.'
const streamsPerBranch = 20
const waitsPerBranch = 20
const tooManyRequests = 'This token has used up its requests for this minute.'

export async function openGateway(config: Config, options: GatewayOptions = {}): Promise<Gateway> {
  keepHeapSmall()
  const { log = openLog(config.logLevel), sibling = alone } = options
  const closers: (() => Promise<void>)[] = []
  const closing = new AbortController()
  const close = async () => {
    closing.abort()
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  const purpose = options.sibling ? 'child' : 'serve'
  const opening = options.storage ?? openStorage(config, purpose, (message) => log.warn(message))
  closers.push(() =>
    opening.then(
      (storage) => storage.close(),
      () => {},
    ),
  )
  try {
    const tracing = await openTracing(config, log)
    if (tracing) closers.push(tracing.close)
    const vault = openVault(config.keySource)
    const storage = await opening
    const { db } = storage
    const streamDb = byTurns(storage.streamDb, openTurns(config.streamConnections))
    const clock = options.clock ?? (await openClock(db, closers))
    const changes = await openChanges(db)
    closers.push(changes.close)
    changes.subscribe((tag) => tag === 'keys:rotated' && vault.reload())
    const clients = openClientDirectory(db, changes)
    // As OpenTelemetry: loaded where somebody asks.
    const metrics = config.metrics && (await import('./metrics/metrics.ts')).openMetrics({ db, streamDb }, clock)
    await openDaysAhead(db, clock.now())
    const days = openDays(db)
    const announcer = openAnnouncer(db)
    const shared: SharedContext = {
      config,
      clock,
      log,
      metrics,
      tracing,
      db,
      streamDb,
      streamTurns: openTurns(config.streamConnections),
      changes,
      vault,
      passwords: openPasswords(config.limits.passwordChecksAtOnce),
      clients,
      knownClients: openKnownClients(clients, changes),
      services: openServiceDesk(db, changes),
      bearers: openBearers(db, changes, clock),
      lastUse: openLastUse(db),
      activity: openActivity(db),
      clientFailures: openRateLimit(
        ...([clock, config.limits.clientFailuresPerMinute, tooManyFailures] as const),
        sibling.openTally('client failures', true),
      ),
      addressFailures: openRateLimit(
        ...([clock, 10 * config.limits.clientFailuresPerMinute, tooManyFailures] as const),
        sibling.openTally('address failures', false),
      ),
      publisher: openPublisher(db, announcer),
      streams: sibling.openPlaces('streams', streamsPerBranch),
      waits: sibling.openPlaces('waits', waitsPerBranch),
      testHooks: openRateLimit(
        ...([clock, config.limits.testHooksPerMinute, tooManyTestHooks] as const),
        sibling.openTally('test hooks', false),
      ),
      guard: config.webhooks,
      eventSignal: openSignal(),
      branchSignal: openBranchSignal(),
      dispatch: {
        db,
        clock,
        days,
        traceDispatch: tracing?.dispatch,
        told: (news) => announcer.dispatched(news),
        readParts: new Set(),
      },
      recorder: openFlightRecorder(db, log),
      signingSecrets: openSecretKeeper(db, vault, changes),
      chainCheck: openChainCheck({ db, vault, clock, log, file: config.auditAnchorFile }),
      closing: closing.signal,
    }
    closers.push(shared.chainCheck.close)
    const rounds = openRounds(shared)
    closers.push(rounds.close, openHousekeeping(shared, rounds, sibling.keepsHouse).close)
    if (config.roles.includes('worker')) closers.push(openDelivery(shared, announcer, rounds, options.lingerMs))
    const compilers = openSchemaCompilers()
    const [live, sandbox] = config.sites.map((site) => openSite(shared, site, sibling)) as [
      OpeningContext,
      OpeningContext,
    ]
    for (const [site, context] of [
      [config.sites[0]!, live],
      [config.sites[1]!, sandbox],
    ] as const) {
      const app = await openApp(context, compilers)
      closers.push(() => closeServer(app, config.limits.requestTimeoutMs))
      context.baseUrl = await listen(app, config, site)
    }
    const metricsServer =
      metrics && config.metrics && !options.sibling && (await openMetricsServer(metrics, config.metrics))
    if (metricsServer) closers.push(metricsServer.close)
    live.sisterUrl = sandbox.baseUrl
    sandbox.sisterUrl = live.baseUrl
    const { baseUrl } = live
    if (config.roles.includes('worker'))
      closers.push(openNotices(shared, { live: baseUrl, sandbox: sandbox.baseUrl }, rounds))
    return {
      baseUrl,
      sandboxUrl: sandbox.baseUrl,
      metricsUrl: metricsServer ? metricsServer.url : undefined,
      context: shared,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** OpenTelemetry is large: without an address to send to, not a byte of it is loaded. */
async function openTracing({ tracing }: Config, log: Logger): Promise<Tracing | undefined> {
  return tracing && (await import('./tracing/open-telemetry.ts')).openTracing(tracing, log)
}

/** The worker of this node, with the sockets it sends through. */
function openDelivery(
  shared: SharedContext,
  announcer: Announcer,
  rounds: Rounds,
  lingerMs = usualLingerMs,
): () => Promise<void> {
  const { config, changes, log, eventSignal, branchSignal, signingSecrets: secrets } = shared
  const { dnsServers, certificateAuthority } = config.webhooks
  const sender = openSender({ policy: config.webhooks, dnsServers, certificateAuthority })
  const worker = openWorker({
    ...shared.dispatch,
    rounds,
    lingerMs,
    changes,
    log,
    sender,
    secrets,
    attempted: listenersOf(shared),
    dispatched({ branches }) {
      eventSignal.fire()
      branchSignal.fire(branches)
    },
    isFollowed: () => eventSignal.isAwaited() || branchSignal.isAwaited(),
  })
  announcer.serve(worker)
  return async () => {
    await worker.close()
    await sender.close()
  }
}

/** Opened last, when the addresses that messages name are known; closed first. */
function openNotices(shared: SharedContext, addresses: Addresses, rounds: Rounds): () => Promise<void> {
  const { config, db, clock, log, closing } = shared
  const courier = openCourier(config.mail)
  const desk = { db, clock, log, closing, courier, findWords: (notice: NoticeToSend) => noticeWords(notice, addresses) }
  return openPost(desk, rounds, [watchFailingWebhooks, watchEndingSecrets]).close
}

/** Whoever wants to know of attempts. */
function listenersOf({ log, metrics, tracing }: SharedContext): ((attempt: AttemptMade) => void)[] {
  const lines = wideLines(log)
  return [
    ...(lines.isLevelEnabled('info') ? [(attempt: AttemptMade) => logAttempt(lines, attempt)] : []),
    ...(metrics ? [metrics.attempt] : []),
    ...(tracing ? [tracing.attempt] : []),
  ]
}

function openSite(shared: SharedContext, site: SiteConfig, sibling: Sibling): OpeningContext {
  const { environment, baseUrl, rateLimitPerMinute } = site
  const tally = sibling.openTally(`${environment} tokens`, false)
  const { db, changes, clock, vault } = shared
  return {
    ...shared,
    environment,
    baseUrl,
    sisterUrl: '',
    codes: openCodeExchange(db, changes, clock, environment),
    refreshes: openTokenRefresh({ db, changes, clock, vault, environment }),
    profiles: openProfiles(db, environment),
    tokenRate: openRateLimit(clock, rateLimitPerMinute, tooManyRequests, tally),
  }
}

async function openApp(context: Context, compilers: SchemaCompilers): Promise<FastifyInstance> {
  const { config, log, metrics, tracing, db, environment } = context
  const app = await openServer({
    limits: config.limits,
    compilers,
    trustProxy: config.trustProxy,
    tls: config.tls,
    log: log.child({ environment }),
    printErrorPage: (problem, request, reply) => printErrorPage(problem, request, reply, environment),
    checkReady: shareFlight(() => ping(db)),
    requiresHttps: () => context.baseUrl.startsWith('https:'),
    openSpan: tracing && ((name, traceparent) => tracing.openRequest(environment, name, traceparent)),
    refused: recordRefusals(context),
    turnedAway: metrics && ((requests) => metrics.turnedAway(environment, requests)),
    answered: metrics && ((request, reply) => metrics.request(countedOf(environment, request, reply))),
  })
  // A worker alone has nothing to say but how it is.
  const isApi = config.roles.includes('api')
  if (isApi) await addRoutes(app, context)
  refuseOtherMethods(app)
  // Not addresses of this site: no method is one of theirs.
  const elsewhere = pageRoutes.filter((route) => !isHere(context, route))
  if (isApi) leadToLiveSite(app, context, elsewhere)
  return app
}

async function addRoutes(app: FastifyInstance, context: Context): Promise<void> {
  const here = pageRoutes.filter((route) => isHere(context, route))
  for (const route of apiRoutes) route.register(app, context)
  // Only pages have cookies, and they take forms alone.
  await app.register(async (pages) => {
    pages.removeContentTypeParser('application/json')
    await pages.register(cookie)
    for (const route of here) route.register(pages, context)
  })
  describeRoutes(app, [...apiRoutes, ...here].filter(isDescribed), context)
  serveAssets(app)
}

function isDescribed<Row extends { schema: unknown }>(row: Row): row is Row & { schema: OperationSchema } {
  return row.schema !== undefined
}

/** For the partner whose call it was. */
function recordRefusals({ recorder, environment, clock }: Context): Refused {
  return (request, problem) => {
    const call = describeRefusal(request, problem)
    if (call) recorder.record({ ...call, environment, at: clock.now() })
  }
}

function countedOf(site: string, { method, routeOptions }: FastifyRequest, reply: FastifyReply): CountedRequest {
  const { statusCode: status, elapsedTime } = reply
  return { site, method, route: routeOptions.url ?? 'none', status, seconds: elapsedTime / 1000 }
}

/**
 * Connections the system may hold before they are accepted. When a full queue drops one, its client knows nothing of it and sends
 * again after 1, 3 and 7 seconds; the system's own limit (net.core.somaxconn, 4096) is the one to meet.
 */
const backlog = 4096

async function listen(app: FastifyInstance, config: Config, site: SiteConfig): Promise<string> {
  await app.listen({ host: config.host, port: site.port, backlog }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    const setting = site.environment === 'live' ? 'PORT' : 'SANDBOX_PORT'
    throw new Error(`Port ${site.port} is taken by another program. Set ${setting} to a free one.`)
  })
  if (site.baseUrl !== '') return site.baseUrl
  const address = app.addresses()[0] as AddressInfo
  const host =
    config.host === 'localhost' ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `${config.tls ? 'https' : 'http'}://${host}:${address.port}`
}

/** However many ask at once: what is under way is the answer to all of them. */
function shareFlight(ask: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> | undefined
  return () => {
    underWay ??= ask().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

const select = statement('ping', 'SELECT 1')
const readyPatienceMs = 2 * second

/** Whoever asks whether this node is ready wants to know soon. */
async function ping(db: Database): Promise<void> {
  const impatience = new AbortController()
  const tooLong = wait(readyPatienceMs, undefined, impatience).then(() => {
    throw new DatabaseUnavailable('The database does not answer.')
  })
  await Promise.race([db.query(select), tooLong]).finally(() => impatience.abort())
}

async function openClock(db: Database, closers: (() => Promise<void>)[]): Promise<SharedClock> {
  const clock = await openSharedClock(db)
  closers.push(async () => clock.close())
  return clock
}
