/**
 * Events accepted and on disk, one by one and in hundreds, beside inserting one row at the same concurrency;
 * and with a key beside without.
 */

import { randomUUID } from 'node:crypto'
import type { Database } from '../src/database/database.ts'
import { ask } from '../test/support/ask.ts'
import { type Benchmark, race } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { underLoad } from './load.ts'
import { startPostgres } from './postgres.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { cycle, type PrepareRound, useOnce } from './requests.ts'
import type { Side } from './rounds.ts'
import { startPeer } from './server-process.ts'
import type { Source } from './source.ts'
import type { Stage } from './stage.ts'

const concurrency = 32
const inBatch = 100
const insertMs = 2_000
/** Entities repeat after so many requests; a real brokerage repeats them too. */
const differentRequests = 1_000
/** More than it can do; what is left over costs only its making. */
const keyedAtMost = 12_000

export const publish = race({
  name: 'publish',
  unit: 'events/s',
  open: (...where) => openContest(...where, 1, 0.5),
})
export const publishBatch = race({
  name: 'publish-batch',
  unit: 'events/s',
  open: (...where) => openContest(...where, inBatch, 15),
})

/** Each request with a key that nobody has used: what we recommend. */
export const publishKeyed: Benchmark = race({
  name: 'publish-keyed',
  unit: 'events/s',
  async open(stage, source) {
    const { gateway, print } = await openPublishing(stage, source, 1)
    const keyed = useOnce(
      async (count) => Array.from({ length: count }, () => print(randomUUID())),
      keyedAtMost,
    )
    return {
      ours: publishing(gateway, 1, keyed),
      openPeers: async () => [
        { against: 'the same without a key', goal: 0.8, side: publishing(gateway, 1, repeated(print, 1)) },
      ],
    }
  },
})

async function openContest(stage: Stage, source: Source, eventsAtOnce: number, goal: number) {
  const { gateway, print } = await openPublishing(stage, source, eventsAtOnce)
  return {
    ours: publishing(gateway, eventsAtOnce, repeated(print, eventsAtOnce)),
    async openPeers() {
      const program = new URL('peers/single-inserts.ts', import.meta.url)
      const rows = await startPeer(stage, program, [await startPostgres(stage), String(concurrency)])
      const theirs: Side = { measure: () => rows.ask('insert', insertMs) }
      return [{ against: 'INSERT of one row', goal, side: theirs }]
    },
  }
}

async function openPublishing(stage: Stage, source: Source, eventsAtOnce: number) {
  const gateway = await startEmptyGateway(stage, { source })
  const branchId = await gateway.makeBranch([])
  const publisher = await gateway.makePublisher()
  const print = (key?: string) => {
    const events = Array.from({ length: eventsAtOnce }, () => makeEvent(branchId))
    return publishRequest(publisher, events, key)
  }
  return { gateway, print }
}

function repeated(print: () => Buffer, eventsAtOnce: number): PrepareRound {
  return cycle(Array.from({ length: differentRequests / eventsAtOnce }, () => print()))
}

function publishing(
  { internal: origin, db }: GatewayUnderTest,
  eventsAtOnce: number,
  prepareRound: PrepareRound,
): Side {
  const side = underLoad({ origin, connections: concurrency, prepareRound, expected: '"eventIds":[' })
  return {
    async measure() {
      const rate = eventsAtOnce * (await side.measure())
      await untilNumbered(db)
      return rate
    },
  }
}

const selectUnnumbered = 'SELECT count(*) AS events FROM outbox'

/** What is accepted still has to be numbered; the next round shall not pay for it. */
async function untilNumbered(db: Database): Promise<void> {
  for (;;) {
    const [left] = await ask<{ events: number }>(db, selectUnnumbered)
    if (left!.events === 0) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}
