/**
 * GET /metrics on an address of its own, which the brokerage keeps to itself: the sites that partners reach
 * know nothing of it.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { refuseTunnel } from '../http/broken-request.ts'
import { codeOf } from '../text/thrown.ts'

interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

/** As http/server.ts does, for the same reason. */
const { createServer } = process.getBuiltinModule('node:http')

const methods = ['GET', 'HEAD']

/** What is counted here, or by several processes together. */
export interface MetricsSource {
  print(): Promise<string>
  readonly contentType: string
}

interface MetricsAddress {
  readonly host: string
  readonly port: number
}

async function answer(metrics: MetricsSource, response: ServerResponse): Promise<void> {
  try {
    const text = await metrics.print()
    response.writeHead(200, { 'content-type': metrics.contentType }).end(text)
  } catch {
    response.writeHead(500).end()
  }
}

export async function openMetricsServer(
  metrics: MetricsSource,
  { host, port }: MetricsAddress,
): Promise<MetricsServer> {
  const server = createServer(async (request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics') response.writeHead(404).end()
    else if (!methods.includes(request.method ?? ''))
      response.writeHead(405, { allow: methods.join(', ') }).end()
    else await answer(metrics, response)
  })
  server.on('connect', (_request, socket) => refuseTunnel(socket, randomUUID()))
  server.listen(port, host)
  await Promise.race([
    once(server, 'listening'),
    once(server, 'error').then(([error]) => {
      throw codeOf(error) === 'EADDRINUSE'
        ? new Error(`Port ${port} is taken by another program. Set METRICS_PORT to a free one.`)
        : error
    }),
  ])
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host}:${taken}/metrics`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
