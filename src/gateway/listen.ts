/** Takes the address of a listener, and says by which URL it is reached. */
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

export async function listen(
  app: FastifyInstance,
  { host, port, setting, isSecure }: ListenerAddress,
): Promise<string> {
  await app.listen({ host, port, backlog }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new Error(`Port ${port} is taken by another program. Set ${setting} to a free one.`)
  })
  const address = app.addresses()[0] as AddressInfo
  return `${isSecure ? 'https' : 'http'}://${nameOf(host, address)}:${address.port}`
}

function nameOf(host: string, { family, address }: AddressInfo): string {
  if (host === 'localhost') return host
  return family === 'IPv6' ? `[${address}]` : address
}
