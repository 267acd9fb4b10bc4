/**
 * The second listener of a site: the same routes, by TLS that asks for a certificate (RFC 8705). It lets in
 * whoever comes, with any certificate or none: the gates judge it. Nothing for browsers is here, which would
 * ask people for one.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressOf } from './addresses.ts'

export interface MutualOptions {
  /** Whether it answers at an address, as its route is written. */
  readonly serves: (url: string) => boolean
}

declare module 'fastify' {
  interface FastifyInstance {
    mutualServer: Server | undefined
  }
}

/** No authorities are named: clients that have a certificate of another would not show it. */
export const anyCertificate: TlsOptions = { ca: [], requestCert: true, rejectUnauthorized: false }

/** What is served on a connection to it. */
const servedOn = new WeakMap<object, MutualOptions['serves']>()

/** It closes with the app: what is under way is finished first. */
export function addMutualListener(app: FastifyInstance, server: Server, { serves }: MutualOptions): void {
  app.decorate('mutualServer', server)
  server.on('secureConnection', (socket: Socket) => servedOn.set(socket, serves))
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  app.addHook('preClose', async () => {
    server.close(() => resolve())
  })
  app.addHook('onClose', () => closed)
}

/** The address is one of the site, and not of the listener that the request came to. */
export function isElsewhere(request: FastifyRequest): boolean {
  const serves = servedOn.get(request.raw.socket)
  return serves !== undefined && !serves(addressOf(request).url)
}
