/**
 * A partner's site on loopback, for browsers: the page with the link that begins everything, and the callback
 * where it ends. To a browser `localhost` and 127.0.0.1 are two sites, as a partner's and the gateway's are:
 * it has the name that the gateway has not.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface PartnerSite {
  readonly origin: string
  /** The same server under an address of the gateway's own host: another origin, but not another site. */
  readonly neighbour: string
  readonly callbacks: URLSearchParams[]
  close(): Promise<void>
}

const otherNames = { '127.0.0.1': 'localhost', localhost: '127.0.0.1' } as const

export async function openPartnerSite(
  gatewayHost: keyof typeof otherNames = '127.0.0.1',
): Promise<PartnerSite> {
  const callbacks: URLSearchParams[] = []
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url!, 'http://localhost')
    if (url.pathname.startsWith('/callback')) callbacks.push(url.searchParams)
    if (url.pathname === '/callback-and-on') {
      const { port } = server.address() as AddressInfo
      response.writeHead(302, { location: `http://${gatewayHost}:${port}/home` }).end()
      return
    }
    const body = url.pathname === '/frame' ? `<iframe src="${url.searchParams.get('of')}"></iframe>` : ''
    const link = `<a href="${url.searchParams.get('to') ?? ''}">Connect</a>`
    const page = `<!doctype html><link rel="icon" href="data:,"><title>Partner</title><h1>Partner ${url.pathname}</h1>`
    response.writeHead(200, { 'content-type': 'text/html' }).end(page + link + body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${otherNames[gatewayHost]}:${port}`,
    neighbour: `http://${gatewayHost}:${port}`,
    callbacks,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
