/** GET /metrics on an address of its own, which the brokerage keeps to itself: the sites that partners reach know nothing of it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Metrics } from './metrics.ts'

export interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

export async function openMetricsServer(metrics: Metrics, host: string, port: number): Promise<MetricsServer> {
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end()
    if (request.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
    try {
      const text = await metrics.print()
      response.writeHead(200, { 'content-type': metrics.contentType }).end(text)
    } catch {
      response.writeHead(500).end()
    }
  }).listen(port, host)
  await Promise.race([
    once(server, 'listening'),
    once(server, 'error').then(([error]) => {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      throw taken ? new Error(`Port ${port} is taken by another program. Set METRICS_PORT to a free one.`) : error
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
