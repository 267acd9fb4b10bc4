/**
 * One of the two sites, live or sandbox: what it has for itself, its server with its routes, and the address
 * it takes.
 */
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { describeCall } from '../api/frame/call-description.ts'
import { describeRoutes } from '../api/openapi/endpoint.ts'
import { apiRoutes } from '../api/routes.ts'
import { second } from '../clock.ts'
import { openFlights } from '../concurrency/single-flight.ts'
import type { Context, SharedContext } from '../context.ts'
import { openTokenSigner } from '../crypto/token-signer.ts'
import { type Database, DatabaseUnavailable } from '../database/database.ts'
import { selectNothing } from '../database/server.sql.ts'
import { addressOf, refuseOtherMethods } from '../http/addresses.ts'
import type { OperationSchema } from '../http/described-route.ts'
import { openRateLimit } from '../http/rate-limit.ts'
import type { SchemaCompilers } from '../http/schema-compilers.ts'
import { openServer } from '../http/server.ts'
import type { CountedRequest } from '../metrics/metrics.ts'
import { openCodeExchange } from '../oauth/code-exchange.ts'
import { openTokenRefresh } from '../oauth/refresh-token.ts'
import type { Config, SiteConfig } from '../settings/config.ts'
import { openProfiles } from '../users/profile.ts'
import { serveAssets } from '../web/frame/assets.ts'
import { printErrorPage } from '../web/frame/error-page.ts'
import { isHere, leadToOtherSite } from '../web/frame/other-site.ts'
import { pageRoutes } from '../web/routes.ts'
import { findAwayParts } from '../webhooks/events/away-parts.ts'
import type { Sibling } from './sibling.ts'

/** A site's context whose addresses are filled in once its server listens. */
type OpeningContext = { -readonly [Key in keyof Context]: Context[Key] }

const tooManyRequests = 'This token has used up its requests for this minute.'

/** What a site has for itself beside what both share. */
export function openSite(shared: SharedContext, site: SiteConfig, sibling: Sibling): OpeningContext {
  const { environment, baseUrl, rateLimitPerMinute } = site
  const tally = sibling.openTally(`${environment} tokens`, false)
  const { db, clock, vault } = shared
  return {
    ...shared,
    environment,
    baseUrl,
    sisterUrl: '',
    codes: openCodeExchange(db, environment),
    refreshes: openTokenRefresh({ db, vault, environment }),
    profiles: openProfiles(db, environment),
    tokenRate: openRateLimit(clock, rateLimitPerMinute, tooManyRequests, tally),
    signer: openTokenSigner(vault, clock, `${environment} token-signature`),
  }
}

export async function openApp(context: Context, compilers: SchemaCompilers): Promise<FastifyInstance> {
  const { config, log, metrics, tracing, db, environment, brands } = context
  const app = await openServer({
    limits: config.limits,
    compilers,
    trustProxy: config.trustProxy,
    tls: config.tls,
    log: log.child({ environment }),
    printErrorPage: (problem, request, reply) =>
      printErrorPage(problem, request, reply, { environment, brand: brands.last(environment) }),
    checkReady: openFlights(() => checkReady(db)).join,
    requiresHttps: () => context.baseUrl.startsWith('https:'),
    openSpan: tracing && ((name, traceparent) => tracing.openRequest(environment, name, traceparent)),
    turnedAway: metrics && ((requests) => metrics.turnedAway(environment, requests)),
    ended: (request, reply) => noteCall(context, request, reply),
    answered: metrics && ((request, reply) => metrics.request(countedOf(environment, request, reply))),
  })
  // A worker alone has nothing to say but how it is.
  const isApi = config.roles.includes('api')
  if (isApi) await addRoutes(app, context)
  const elsewhere = isApi ? pageRoutes.filter((route) => !isHere(context, route)) : []
  refuseOtherMethods(app, leadToOtherSite(context, elsewhere))
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
  serveAssets(app, context)
}

function isDescribed<Row extends { schema: unknown }>(row: Row): row is Row & { schema: OperationSchema } {
  return row.schema !== undefined
}

/** For the partner whose call it was. */
function noteCall(context: Context, request: FastifyRequest, reply: FastifyReply): void {
  const call = describeCall(context, request, reply)
  if (call) context.callLog.note(call)
}

function countedOf(site: string, request: FastifyRequest, reply: FastifyReply): CountedRequest {
  const { statusCode: status, elapsedTime } = reply
  return { site, method: request.method, route: addressOf(request).url, status, seconds: elapsedTime / 1000 }
}

/**
 * Connections the system may hold before they are accepted. When a full queue drops one, its client knows
 * nothing of it and sends again after 1, 3 and 7 seconds; the system's own limit (net.core.somaxconn, 4096)
 * is the one to meet.
 */
const backlog = 4096

export async function listen(app: FastifyInstance, config: Config, site: SiteConfig): Promise<string> {
  await app.listen({ host: config.host, port: site.port, backlog }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    const setting = site.environment === 'live' ? 'PORT' : 'SANDBOX_PORT'
    throw new Error(`Port ${site.port} is taken by another program. Set ${setting} to a free one.`)
  })
  if (site.baseUrl !== '') return site.baseUrl
  const address = app.addresses()[0] as AddressInfo
  const host =
    config.host === 'localhost'
      ? 'localhost'
      : address.family === 'IPv6'
        ? `[${address.address}]`
        : address.address
  return `${config.tls ? 'https' : 'http'}://${host}:${address.port}`
}

const readyTimeoutMs = 2 * second

/** Ready, whichever parts are away: the others are served. */
async function checkReady(db: Database): Promise<object> {
  const [partsAway] = await Promise.all([findAwayParts(db), ping(db)])
  return partsAway.length === 0 ? {} : { partsAway }
}

/** A load balancer that asks whether this node is ready wants to know soon. */
async function ping(db: Database): Promise<void> {
  const deadline = new AbortController()
  const tooLong = wait(readyTimeoutMs, undefined, deadline).then(() => {
    throw new DatabaseUnavailable('The database does not answer.')
  })
  await Promise.race([db.query(selectNothing), tooLong]).finally(() => deadline.abort())
}
