/**
 * The wire between a node and PostgreSQL, which can be long, or cut: what the node holds then, it holds until
 * others take it for gone.
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

const socketName = '.s.PGSQL.5432'

export async function openWire(databaseUrl: string): Promise<Wire> {
  const folder = makeFolder()
  const target = decodeURIComponent(/host=([^&]*)/.exec(databaseUrl)![1]!)
  const sockets = new Set<Socket>()
  let isCut = false
  let delayMs = 0
  const server = createServer((client) => {
    if (isCut) return client.destroy()
    const upstream = connect(join(target, socketName))
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
  await new Promise<void>((listening) => server.listen(join(folder, socketName), listening))
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: databaseUrl.replace(/host=[^&]*/, `host=${encodeURIComponent(folder)}`),
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
