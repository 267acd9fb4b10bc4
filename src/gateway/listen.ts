/** Takes the address of a listener, and says by which URL it is reached. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

export interface ListenerAddress {
  readonly host: string
  readonly port: number
  /** The name of the setting that says the port. */
  readonly setting: string
  readonly isSecure: boolean
}

/**
 * Connections the system may hold before they are accepted. When a full queue drops one, its client knows
 * nothing of it and sends again after 1, 3 and 7 seconds; the system's own limit (net.core.somaxconn, 4096)
 * is the one to meet.
 */
const backlog = 4096

export async function listen(app: FastifyInstance, where: ListenerAddress): Promise<string> {
  const { host, port, isSecure } = where
  await app.listen({ host, port, backlog }).catch(tellTaken(where))
  const address = app.addresses()[0] as AddressInfo
  return `${isSecure ? 'https' : 'http'}://${nameOf(host, address)}:${address.port}`
}

/** Of the second listener of an app. Answers its port. */
export async function listenBeside(server: Server, where: ListenerAddress): Promise<number> {
  const { host, port } = where
  server.listen({ host, port, backlog })
  await once(server, 'listening').catch(tellTaken(where))
  return (server.address() as AddressInfo).port
}

function tellTaken({ port, setting }: ListenerAddress) {
  return (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new Error(`Port ${port} is taken by another program. Set ${setting} to a free one.`)
  }
}

function nameOf(host: string, { family, address }: AddressInfo): string {
  if (host === 'localhost') return host
  return family === 'IPv6' ? `[${address}]` : address
}
