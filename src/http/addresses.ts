/**
 * Every address answers every method that Node can read: those it does not take with 405 and Allow. What no
 * route takes is looked up among all addresses, whatever they take, in a router of its own: most gateways
 * never need it, and it is made when it is first asked.
 */
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import findMyWay from 'find-my-way'
import { Problem } from '../problem.ts'

/**
 * `api`: the one JSON shape. `oauth`: RFC 6749 bodies. `page`: HTML for a person, unless they ask for JSON.
 */
export type ErrorShape = 'api' | 'oauth' | 'page'

/** Where requests come that no route takes. */
export interface Address {
  readonly url: string
  readonly errors: ErrorShape | undefined
  refuse(request: FastifyRequest): Problem
}

interface AddressEntry {
  readonly taken: string[]
  readonly errors: ErrorShape | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    errors?: ErrorShape
  }
  interface FastifyInstance {
    knownAddresses: Map<string, AddressEntry>
    findAddress(url: string): Address | undefined
  }
  interface FastifyRequest {
    /** Of a request that no route takes. */
    misused: Address | undefined
  }
}

/** How addresses are read. */
export const routerOptions = { ignoreTrailingSlash: false, maxParamLength: 100 }

/** Before the first route: what is served beside the tables is an address as well. */
export function collectAddresses(app: FastifyInstance): void {
  const addresses = new Map<string, AddressEntry>()
  app.decorate('knownAddresses', addresses)
  app.decorateRequest('misused', undefined)
  app.addHook('onRoute', ({ method, url, config }) => {
    const { taken, errors } = addresses.get(url) ?? { taken: [], errors: config?.errors }
    addresses.set(url, { taken: [...taken, ...[method].flat()], errors })
  })
}

/** Call it when all routes are known. `others`: addresses that take no method at all, and say why. */
export function refuseOtherMethods(app: FastifyInstance, others: readonly Address[] = []): void {
  const known = [...app.knownAddresses]
  const addresses = [...known.map(describeKnown), ...others]
  const bySegments = Map.groupBy(known.map(takeApart), ({ segments }) => segments.length)
  for (const address of addresses) {
    const segments = address.url.split('/')
    const wider = (bySegments.get(segments.length) ?? []).filter((other) => isWider(other.segments, segments))
    refuseForWiderOnes(app, address, new Set(wider.flatMap(({ taken }) => taken)))
  }
  let find: FastifyInstance['findAddress'] | undefined
  app.decorate('findAddress', (url) => {
    find ??= openBook(addresses)
    return find(url)
  })
}

const takeApart = ([url, { taken }]: [string, AddressEntry]) => ({ segments: url.split('/'), taken })

function isWider(wider: readonly string[], segments: readonly string[]): boolean {
  return wider.every((each, n) => each === segments[n] || each.startsWith(':'))
}

/** What `/webhooks/transaction` does not take would go to `/webhooks/:id`, which may. */
function refuseForWiderOnes(app: FastifyInstance, address: Address, taken: ReadonlySet<string>): void {
  const own = app.knownAddresses.get(address.url)?.taken ?? []
  const method = [...taken].filter((each) => !own.includes(each))
  if (method.length === 0) return
  const schema: object = { hide: true }
  const config = address.errors ? { errors: address.errors } : {}
  // Before the body is read: what it holds does not matter.
  const onRequest: onRequestHookHandler = (request, _reply, done) => done(address.refuse(request))
  app.route({
    method,
    url: address.url,
    schema,
    config,
    exposeHeadRoute: false,
    onRequest,
    handler: () => {},
  })
}

function describeKnown([url, { taken, errors }]: [string, AddressEntry]): Address {
  const allow = taken.join(', ')
  return {
    url,
    errors,
    refuse({ method }) {
      const description = `${method} is not a method of this endpoint. It takes ${allow}.`
      return new Problem(405, 'invalid_request', description, { headers: { allow } })
    },
  }
}

function openBook(addresses: readonly Address[]): FastifyInstance['findAddress'] {
  const book = findMyWay(routerOptions)
  for (const address of addresses) book.on('GET', address.url, () => {}, address)
  return (url) => book.find('GET', url)?.store as Address | undefined
}

/** Of a request that no route takes: why, if there is something at its address. */
export function findMisuse(request: FastifyRequest): Problem | undefined {
  request.misused = request.server.findAddress(request.url)
  return request.misused?.refuse(request)
}

/** The address as its route was written, and the shape of its errors. */
export function addressOf({ misused, routeOptions }: FastifyRequest): Omit<Address, 'refuse'> {
  return misused ?? { url: routeOptions.url ?? 'none', errors: routeOptions.config?.errors }
}
