/** Every address answers every method that Node can read: those it does not take with 405 and Allow. */
import { METHODS } from 'node:http'
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

/** Before the first route: what is served beside the tables is an address as well. */
export function collectAddresses(app: FastifyInstance): void {
  const addresses = new Map<string, Address>()
  app.decorate('knownAddresses', addresses)
  app.addHook('onRoute', ({ method, url, config }) => {
    const address = addresses.get(url) ?? { taken: [], errors: config?.errors }
    addresses.set(url, { ...address, taken: [...address.taken, ...[method].flat()] })
  })
}

/** CONNECT asks for a tunnel and names no address of ours; Node never hands it to a route. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Call it when all routes are known. */
export function refuseOtherMethods(app: FastifyInstance): void {
  for (const method of methods) if (!app.supportedMethods.includes(method as HTTPMethods)) app.addHttpMethod(method)
  for (const [url, address] of [...app.knownAddresses]) refuseAt(app, url, address)
}

function refuseAt(app: FastifyInstance, url: string, { taken, errors }: Address): void {
  const allow = taken.join(', ')
  app.route({
    method: methods.filter((method) => !taken.includes(method)) as HTTPMethods[],
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
