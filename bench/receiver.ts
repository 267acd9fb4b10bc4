/** The receiver of deliveries, in a process of its own, as benchmarks talk to it. */
import { startPeer } from './server-process.ts'
import type { Stage } from './stage.ts'

export interface Receiver {
  readonly pid: number
  readonly origin: string
  /** Resolves when so many deliveries have come since the last time. */
  awaitMore(count: number): Promise<void>
  /** How many have come and were not awaited. */
  count(): Promise<number>
  /** Milliseconds from publishing to arrival, of everything since the last time. */
  takeLatencies(): Promise<number[]>
}

export async function startReceiver(stage: Stage): Promise<Receiver> {
  const peer = await startPeer(stage, new URL('peers/receiver.ts', import.meta.url))
  return {
    pid: peer.pid,
    origin: peer.origin,
    async awaitMore(count) {
      await peer.ask('await', count)
    },
    count: () => peer.ask('count', 0),
    takeLatencies: () => peer.ask('latencies', 0),
  }
}
