/**
 * A stretch of network between a node and PostgreSQL that can be slow, cut, or swallow everything without a
 * word.
 */
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export type Weather =
  | { readonly kind: 'fair' }
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** Every connection is reset, new ones too. */
  | { readonly kind: 'cut' }
  /**
   * Nothing arrives and nobody is told; what was open then stays dead, as behind a firewall that forgot it.
   */
  | { readonly kind: 'silent' }

export interface Relay {
  readonly port: number
  change(weather: Weather): void
  close(): Promise<void>
}

export async function openRelay(targetPort: number): Promise<Relay> {
  let weather: Weather = { kind: 'fair' }
  /** Bumped when everything open falls silent for ever. */
  let era = 0
  const sockets = new Set<Socket>()

  function pass(from: Socket, to: Socket, born: number): void {
    let last = Promise.resolve()
    from.on('data', (chunk) => {
      if (born !== era || weather.kind === 'silent') return
      if (weather.kind === 'fair') to.write(chunk)
      else if (weather.kind === 'slow') {
        const due = wait(weather.delayMs)
        last = last.then(() => due).then(() => void to.write(chunk))
      }
    })
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      if (born === era) to.destroy()
    })
  }

  const server = createServer((client) => {
    if (weather.kind === 'cut') return client.resetAndDestroy()
    const upstream = connect({ host: '127.0.0.1', port: targetPort, noDelay: true })
    client.setNoDelay(true)
    sockets.add(client).add(upstream)
    pass(client, upstream, era)
    pass(upstream, client, era)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  return {
    port,
    change(next) {
      weather = next
      if (next.kind === 'silent') era++
      if (next.kind === 'cut') for (const socket of sockets) socket.resetAndDestroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
