/** A partner's server on loopback: keeps what it was sent, answers as it is told, and lets a test wait for requests. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer
}

export interface HookReceiver {
  readonly url: string
  readonly port: number
  readonly requests: readonly Received[]
  /** The answer to every request from now on. */
  answer(status: number, headers?: Record<string, string>): void
  /** Holds every request from now on without an answer, until the returned function lets them go. */
  hold(): () => void
  /** The requests so far, as soon as there are this many. */
  wait(count: number): Promise<readonly Received[]>
  close(): Promise<void>
}

const patienceMs = 20_000

export async function openHookReceiver(): Promise<HookReceiver> {
  const requests: Received[] = []
  const waiting = new Set<() => void>()
  let reply: { status: number; headers: Record<string, string> } = { status: 200, headers: {} }
  let gate: Promise<void> | undefined
  const server = createServer(async (request, response) => {
    requests.push(await read(request))
    for (const look of waiting) look()
    await gate
    response.writeHead(reply.status, reply.headers).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    port,
    requests,
    answer(status, headers = {}) {
      reply = { status, headers }
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return () => {
        gate = undefined
        resolve()
      }
    },
    wait(count) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`${requests.length} of ${count} requests came`))
        }, patienceMs)
        const look = () => {
          if (requests.length < count) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(requests)
        }
        waiting.add(look)
        look()
      })
    },
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  return { path: request.url ?? '', headers, body: Buffer.concat(chunks) }
}
