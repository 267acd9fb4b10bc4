/** A TCP proxy before an HTTP server, which can hold back what that says, or cut everybody off. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface HeldWire {
  readonly url: string
  /** From now on no byte of an answer arrives; connections stay. */
  hold(): void
  /** What was held back arrives. */
  release(): void
  /** Cuts everybody off, and lets nobody in until it is resumed. */
  pause(): Promise<void>
  resume(): void
  /** How many there have been. */
  readonly connections: number
  /** Resolves when the connections that there are have ended. */
  cut(): Promise<void>
  close(): Promise<void>
}

export async function openHeldWire(target: string): Promise<HeldWire> {
  const { hostname, port } = new URL(target)
  const pairs = new Map<Socket, Socket>()
  let isHeld = false
  let isPaused = false
  let connections = 0
  const server = createServer((client) => {
    connections++
    if (isPaused) return void client.destroy()
    const upstream = connect(Number(port), hostname)
    pairs.set(client, upstream)
    client.pipe(upstream)
    if (!isHeld) upstream.pipe(client)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => {
        pairs.delete(client)
        other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = async () => {
    const ended = [...pairs.keys()].map((client) => once(client.destroy(), 'close'))
    await Promise.all(ended)
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold() {
      isHeld = true
      for (const [client, upstream] of pairs) upstream.unpipe(client)
    },
    release() {
      isHeld = false
      for (const [client, upstream] of pairs) upstream.pipe(client)
    },
    pause() {
      isPaused = true
      return cut()
    },
    resume() {
      isPaused = false
    },
    get connections() {
      return connections
    },
    cut,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      await cut()
      await closed
    },
  }
}
