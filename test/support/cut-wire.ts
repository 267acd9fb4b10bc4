/**
 * The wire between a node and PostgreSQL, which can be long, or cut: what the node holds then, it holds until
 * others take it for gone. Of a Citus it is the wire to the coordinator; the workers stay within reach.
 */
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { makeFolder } from './process.ts'

export interface Wire {
  readonly url: string
  cut(): void
  /** From now on everything takes so long, each way. */
  lengthen(delayMs: number): void
  close(): Promise<void>
}

export async function openWire(databaseUrl: string): Promise<Wire> {
  const folder = makeFolder()
  const target = /[?&]host=([^&]*)/.exec(databaseUrl)?.[1]
  // The address of a server on this machine has no host, and is none that URL takes.
  const { hostname, port } = new URL(target === undefined ? databaseUrl : 'postgresql://localhost')
  const socketIn = (place: string) => join(place, `.s.PGSQL.${port || 5432}`)
  const reach = () =>
    target === undefined
      ? connect(Number(port || 5432), hostname)
      : connect(socketIn(decodeURIComponent(target)))
  const sockets = new Set<Socket>()
  let isCut = false
  let delayMs = 0
  const server = createServer((client) => {
    if (isCut) return client.destroy()
    const upstream = reach()
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => to.destroy())
      // Timers of one length end in their order.
      from.on(
        'data',
        (chunk) => void (delayMs > 0 ? setTimeout(() => to.write(chunk), delayMs) : to.write(chunk)),
      )
    }
  })
  await new Promise<void>((listening) => server.listen(socketIn(folder), listening))
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url:
      target === undefined
        ? `${databaseUrl}?host=${encodeURIComponent(folder)}`
        : databaseUrl.replace(/host=[^&]*/, `host=${encodeURIComponent(folder)}`),
    cut,
    lengthen(ms) {
      delayMs = ms
    },
    async close() {
      cut()
      await new Promise((closed) => server.close(closed))
    },
  }
}
