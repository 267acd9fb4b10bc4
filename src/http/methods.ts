/**
 * Every address answers every method that Node can read: those it does not take with 405 and Allow. The router keeps a tree of all addresses for each
 * method; those that no address takes are refused alike, and one of them stands for all in it.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { Problem } from '../problem.ts'
import type { ErrorShape } from './errors.ts'

interface Address {
  readonly taken: string[]
  readonly errors: ErrorShape | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    knownAddresses: Map<string, Address>
  }
}

const takenSomewhere: readonly HTTPMethods[] = ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT']
const standIn = 'TRACE'

/** All that the router is ever asked for. */
export const routedMethods: readonly HTTPMethods[] = [...takenSomewhere, standIn]

/** The methods of requests for which another stands in. */
const asked = new WeakMap<IncomingMessage, string>()

/** Call it before the router sees the request. */
export function letOneStandIn(request: IncomingMessage): void {
  const method = request.method!
  if (takenSomewhere.includes(method as HTTPMethods)) return
  asked.set(request, method)
  request.method = standIn
}

/** Call it behind the router: everybody else reads the method that was sent. */
export function restoreMethod(request: IncomingMessage): void {
  if (request.method === standIn) request.method = asked.get(request) ?? standIn
}

/** Before the first route: what is served beside the tables is an address as well. */
export function collectAddresses(app: FastifyInstance): void {
  const addresses = new Map<string, Address>()
  app.decorate('knownAddresses', addresses)
  app.addHook('onRequest', (request, _reply, done) => {
    restoreMethod(request.raw)
    done()
  })
  app.addHook('onRoute', ({ method, url, config }) => {
    const methods = [method].flat() as HTTPMethods[]
    const unknown = methods.find((each) => !routedMethods.includes(each))
    if (unknown) throw new Error(`${unknown} ${url}: no request would find it. Name ${unknown} in http/methods.ts.`)
    const address = addresses.get(url) ?? { taken: [], errors: config?.errors }
    addresses.set(url, { ...address, taken: [...address.taken, ...methods] })
  })
}

/** Call it when all routes are known. */
export function refuseOtherMethods(app: FastifyInstance): void {
  for (const [url, address] of [...app.knownAddresses]) refuseAt(app, url, address)
}

function refuseAt(app: FastifyInstance, url: string, { taken, errors }: Address): void {
  const allow = taken.join(', ')
  app.route({
    method: routedMethods.filter((method) => !taken.includes(method)),
    url,
    schema: { hide: true } as object,
    config: errors ? { errors } : {},
    exposeHeadRoute: false,
    // Before the body is read: what it holds does not matter.
    onRequest: ({ method }, _reply, done) => {
      const description = `${method} is not a method of this endpoint. It takes ${allow}.`
      done(new Problem(405, 'invalid_request', description, { headers: { allow } }))
    },
    handler: () => {},
  })
}
