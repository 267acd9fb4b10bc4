/**
 * Where the brokerage's own programs call, on an address that it keeps to itself: the sites know nothing of
 * these routes. It serves both environments, and the credential says which.
 */
import type { FastifyInstance } from 'fastify'
import { describeInternal } from '../api/openapi/endpoint.ts'
import { apiRoutes } from '../api/routes.ts'
import type { Context } from '../context.ts'
import { refuseOtherMethods } from '../http/addresses.ts'
import type { SchemaCompilers } from '../http/schema-compilers.ts'
import { openServer } from '../http/server.ts'
import type { Config } from '../settings/config.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { describedRoutes } from './described-routes.ts'
import type { ListenerAddress } from './listen.ts'
import { readinessOf } from './readiness.ts'
import { countedOf } from './site.ts'

/** In logs and counts. */
const site = 'internal'

export function internalAddress({ internal: { host, port, tls } }: Config): ListenerAddress {
  return { host, port, setting: 'INTERNAL_PORT', isSecure: tls !== undefined }
}

export async function openInternalApp(
  contexts: Readonly<Record<Environment, Context>>,
  compilers: SchemaCompilers,
): Promise<FastifyInstance> {
  const { config, log, metrics, tracing, db } = contexts.live
  const app = await openServer({
    limits: config.limits,
    compilers,
    // Whoever calls here calls by itself.
    trustProxy: [],
    tls: config.internal.tls,
    log: log.child({ environment: site }),
    checkReady: readinessOf(db),
    requiresHttps: () => false,
    openSpan: tracing && ((name, traceparent) => tracing.openRequest(site, name, traceparent)),
    turnedAway: metrics && ((requests) => metrics.turnedAway(site, requests)),
    answered: metrics && ((request, reply) => metrics.request(countedOf(site, request, reply))),
  })
  if (config.roles.includes('api')) addRoutes(app, contexts)
  refuseOtherMethods(app)
  return app
}

function addRoutes(app: FastifyInstance, contexts: Readonly<Record<Environment, Context>>): void {
  // A credential that says none is refused by either.
  for (const { environmentOf, register } of apiRoutes)
    if (environmentOf) register(app, (request) => contexts[environmentOf(request) ?? 'live'])
  describeInternal(app, describedRoutes, contexts)
}
