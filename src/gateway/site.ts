/**
 * One of the two sites, live or sandbox: what it has for itself, its server with its routes, and where it
 * listens.
 */
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { describeCall } from '../api/frame/call-description.ts'
import { describeSite } from '../api/openapi/endpoint.ts'
import { apiRoutes } from '../api/routes.ts'
import type { Context, SharedContext } from '../context.ts'
import { openTokenSigner } from '../crypto/token-signer.ts'
import { refuseOtherMethods, addressOf as routeOf } from '../http/addresses.ts'
import { openRateLimit } from '../http/rate-limit.ts'
import type { SchemaCompilers } from '../http/schema-compilers.ts'
import { openServer } from '../http/server.ts'
import type { CountedRequest } from '../metrics/metrics.ts'
import { openCodeExchange } from '../oauth/code-exchange.ts'
import { openDpopNonces } from '../oauth/dpop-nonce.ts'
import { openTokenRefresh } from '../oauth/refresh-token.ts'
import type { Config, SiteConfig } from '../settings/config.ts'
import { openProfiles } from '../users/profile.ts'
import { serveAssets } from '../web/frame/assets.ts'
import { printErrorPage } from '../web/frame/error-page.ts'
import { isHere, leadToOtherSite } from '../web/frame/other-site.ts'
import { pageRoutes } from '../web/routes.ts'
import { describedRoutes } from './described-routes.ts'
import type { ListenerAddress } from './listen.ts'
import { mutualOptionsOf } from './mutual.ts'
import { readinessOf } from './readiness.ts'
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
    mtlsUrl: undefined,
    codes: openCodeExchange(db, environment),
    refreshes: openTokenRefresh({ db, vault, environment }),
    dpopNonces: openDpopNonces(vault, clock, `${environment} dpop-nonce`),
    profiles: openProfiles(db, environment),
    tokenRate: openRateLimit(clock, rateLimitPerMinute, tooManyRequests, tally),
    signer: openTokenSigner(vault, clock, `${environment} token-signature`),
  }
}

export async function openApp(
  context: Context,
  site: SiteConfig,
  compilers: SchemaCompilers,
): Promise<FastifyInstance> {
  const { config, log, metrics, tracing, db, environment, brands } = context
  const app = await openServer({
    limits: config.limits,
    compilers,
    trustProxy: config.trustProxy,
    certificateProxies: config.mtls.proxyHeader ? config.trustProxy : [],
    tls: config.tls,
    mutual: mutualOptionsOf(site),
    log: log.child({ environment }),
    printErrorPage: (problem, request, reply) =>
      printErrorPage(problem, request, reply, { environment, brand: brands.last(environment) }),
    checkReady: readinessOf(db),
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
  for (const route of apiRoutes) if (!route.environmentOf) route.register(app, () => context)
  // Only pages have cookies, and they take forms alone.
  await app.register(async (pages) => {
    pages.removeContentTypeParser('application/json')
    await pages.register(cookie)
    for (const route of here) route.register(pages, context)
  })
  describeSite(app, describedRoutes(context), context)
  serveAssets(app, context)
}

/** For the partner whose call it was. */
function noteCall(context: Context, request: FastifyRequest, reply: FastifyReply): void {
  const call = describeCall(context, request, reply)
  if (call) context.callLog.note(call)
}

export function countedOf(site: string, request: FastifyRequest, reply: FastifyReply): CountedRequest {
  const { statusCode: status, elapsedTime } = reply
  return { site, method: request.method, route: routeOf(request).url, status, seconds: elapsedTime / 1000 }
}

export function addressOf({ host, tls }: Config, { environment, port }: SiteConfig): ListenerAddress {
  return {
    host,
    port,
    setting: environment === 'live' ? 'PORT' : 'SANDBOX_PORT',
    isSecure: tls !== undefined,
  }
}
