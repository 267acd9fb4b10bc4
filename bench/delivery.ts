/**
 * Events of one branch to its hundred webhooks, from publishing to the last arrival, beside a loop that
 * stores nothing and beside job queues on PostgreSQL that run the same POST.
 */
import { race } from './benchmark.ts'
import { startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { openMeter } from './meter.ts'
import { urlOf, webhooks } from './peers/post.ts'
import { startPostgres } from './postgres.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import type { Side } from './rounds.ts'
import { type PeerProcess, startPeer } from './server-process.ts'
import type { Source } from './source.ts'
import type { Stage } from './stage.ts'

const events = 200
/** Enough for each to be at full speed most of the time. */
const posts = { loop: 20_000, queue: 5_000 }

export const delivery = race({
  name: 'delivery',
  unit: 'deliveries/s',
  async open(stage, source) {
    const receiver = await startReceiver(stage)
    const start = (name: string, args: readonly string[]) =>
      startPeer(stage, new URL(`peers/${name}.ts`, import.meta.url), args)
    return {
      ours: await openFanOut(stage, source, receiver),
      async openPeers() {
        const loop = await start('undici-loop', [receiver.origin])
        const graphile = await start('graphile-worker', [await startPostgres(stage), receiver.origin])
        const boss = await start('pg-boss', [await startPostgres(stage), receiver.origin])
        return [
          { against: 'undici and HMAC alone', goal: 0.7, side: peerSide(receiver, loop, posts.loop) },
          { against: 'graphile-worker', goal: 3, side: peerSide(receiver, graphile, posts.queue) },
          { against: 'pg-boss', goal: 3, side: peerSide(receiver, boss, posts.queue) },
        ]
      },
    }
  },
})

/** An empty gateway whose one branch has a hundred webhooks. */
export async function openFanOut(stage: Stage, source: Source, receiver: Receiver): Promise<FanOut> {
  const gateway = await startEmptyGateway(stage, { source })
  const urls = Array.from({ length: webhooks }, (_, index) => urlOf(receiver.origin, index))
  const branchId = await gateway.makeBranch(urls)
  const publisher = await gateway.makePublisher()
  const side = timed(receiver, events * webhooks, async () => {
    const all = Array.from({ length: events }, () => makeEvent(branchId))
    await send(gateway.internal, publishRequest(publisher, all))
  })
  const readUs = await openMeter(gateway)
  return { ...side, deliveries: events * webhooks, readUs, analyze: () => gateway.db.script('ANALYZE') }
}

export interface FanOut extends Side {
  /** Of a measurement. */
  readonly deliveries: number
  readUs(): number
  analyze(): Promise<void>
}

function peerSide(receiver: Receiver, peer: PeerProcess, count: number): Side {
  return timed(receiver, count, async () => {
    await peer.ask('deliver', count)
  })
}

/** From the start of the work to the last arrival. */
function timed(receiver: Receiver, count: number, work: () => Promise<void>): Side {
  return {
    async measure() {
      const started = performance.now()
      await Promise.all([work(), receiver.awaitMore(count)])
      return (count * 1000) / (performance.now() - started)
    },
  }
}
