/** Events accepted and on disk, one by one and in hundreds, beside inserting one row at the same concurrency. */
import type { Database } from '../src/database/database.ts'
import { selectPartsWithNews } from '../src/webhooks/inbox.sql.ts'
import { race } from './benchmark.ts'
import { startEmptyGateway } from './gateway.ts'
import { underLoad } from './load.ts'
import { startPostgres } from './postgres.ts'
import { makeBranch, makeEvent, makePublisher, publishRequest } from './publisher.ts'
import { cycle } from './requests.ts'
import type { Side } from './rounds.ts'
import { startPeer } from './server-process.ts'
import type { Stage } from './stage.ts'

const concurrency = 32
const inBatch = 100
const insertMs = 2_000
/** Entities repeat after so many requests; a real brokerage repeats them too. */
const differentRequests = 1_000

export const publish = race({ name: 'publish', unit: 'events/s', open: (stage) => openContest(stage, 1, 0.5) })
export const publishBatch = race({
  name: 'publish-batch',
  unit: 'events/s',
  open: (stage) => openContest(stage, inBatch, 15),
})

async function openContest(stage: Stage, eventsAtOnce: number, goal: number) {
  const gateway = await startEmptyGateway(stage)
  const branchId = await makeBranch(gateway, [])
  const publisher = await makePublisher(gateway)
  const requests = Array.from({ length: differentRequests / eventsAtOnce }, () =>
    publishRequest(
      publisher,
      Array.from({ length: eventsAtOnce }, () => makeEvent(branchId)),
    ),
  )
  const side = underLoad({
    origin: gateway.origin,
    connections: concurrency,
    prepareRound: cycle(requests),
    expected: '"eventIds":[',
  })
  const rows = await startPeer(stage, new URL('peers/single-inserts.ts', import.meta.url), [
    await startPostgres(stage),
    String(concurrency),
  ])
  const theirs: Side = { measure: () => rows.ask('insert', insertMs) }
  return {
    ours: {
      async measure() {
        const rate = eventsAtOnce * (await side.measure())
        await untilDispatched(gateway.db)
        return rate
      },
    },
    peers: [{ against: 'INSERT of one row', goal, side: theirs }],
  }
}

/** What is accepted still has to be numbered; the peer's round shall not pay for it. */
async function untilDispatched(db: Database): Promise<void> {
  for (;;) {
    if ((await db.query(selectPartsWithNews)).length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
