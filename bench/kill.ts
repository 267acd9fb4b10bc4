/**
 * A node that sends is killed (`kill -9`): how long until everything is sent and written down, by another
 * node or by itself after its restart, and how much was sent twice. PostgreSQL is not the node's own, and
 * goes on.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { type Database, openDatabase } from '../src/database/database.ts'
import { ask } from '../test/support/ask.ts'
import type { Benchmark, Course } from './benchmark.ts'
import { startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { urlOf, webhooks } from './peers/post.ts'
import { startPostgres } from './postgres.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { withinLimit } from './report.ts'
import { median } from './rounds.ts'
import { here, type Source } from './source.ts'
import { openStage, type Stage } from './stage.ts'

const events = 40
const deliveries = events * webhooks
/** In the middle of it. */
const killedAfter = 1_000
const kills = 10
const pollMs = 20
const limitsMs = { another: 2_000, itself: 1_000 }

export const kill: Benchmark = {
  name: 'kill',
  async run(stage) {
    const receiver = await startReceiver(stage)
    const another = await killMany(await openVictims(stage, here, receiver, 'another'))
    const itself = await killMany(await openVictims(stage, here, receiver, 'itself'))
    const twice = [...another, ...itself].map((each) => each.twice)
    process.stderr.write(`kill: of ${deliveries} sent twice, each time: ${twice.join(', ')}\n`)
    return [
      withinLimit('kill -9, sent by another', median(another.map((each) => each.ms)), limitsMs.another, 'ms'),
      withinLimit(
        'kill -9, by itself once ready',
        median(itself.map((each) => each.ms)),
        limitsMs.itself,
        'ms',
      ),
    ]
  },
  async openCourse(stage, source) {
    return meanOfTwice(await openVictims(stage, source, await startReceiver(stage), 'itself'))
  },
}

/** One kill says little: how many answers are not written down at that moment is chance. */
function meanOfTwice(victims: Victims): Course {
  return {
    async measure() {
      const made = [await victims.kill(), await victims.kill()]
      const mean = (made[0]!.twice + made[1]!.twice) / made.length
      return [{ name: `sent twice of ${deliveries} a kill`, value: mean, unit: 'deliveries', isCost: true }]
    },
  }
}

interface KillResult {
  /** From the kill, or for a node alone from the moment at which it is ready again. */
  readonly ms: number
  readonly twice: number
}

interface Victims {
  kill(): Promise<KillResult>
}

async function killMany(victims: Victims): Promise<KillResult[]> {
  const all: KillResult[] = []
  for (let n = 0; n < kills; n++) all.push(await victims.kill())
  return all
}

async function openVictims(
  stage: Stage,
  source: Source,
  receiver: Receiver,
  by: 'another' | 'itself',
): Promise<Victims> {
  const opening = { source, dataDir: stage.makeFolder(), databaseUrl: await startPostgres(stage) }
  if (by === 'another') await startEmptyGateway(stage, opening)
  const db = openDatabase({ connectionString: opening.databaseUrl })
  stage.owns(() => db.close())
  let life = openStage()
  stage.owns(() => life.close())
  let victim = await startEmptyGateway(life, opening)
  const branchId = await victim.makeBranch(
    Array.from({ length: webhooks }, (_, n) => urlOf(receiver.origin, n)),
  )
  const publisher = await victim.makePublisher()
  let expected = 0
  async function startAgain(): Promise<void> {
    await life.close()
    life = openStage()
    victim = await startEmptyGateway(life, opening)
  }
  async function awaitAll(): Promise<number> {
    while ((await countDelivered(db)) < expected) await wait(pollMs)
    return performance.now()
  }
  return {
    async kill() {
      const before = await receiver.count()
      expected += deliveries
      await send(
        victim.internal,
        publishRequest(
          publisher,
          Array.from({ length: events }, () => makeEvent(branchId)),
        ),
      )
      while ((await receiver.count()) - before < killedAfter) await wait(pollMs)
      process.kill(victim.pid, 'SIGKILL')
      const killedMs = performance.now()
      if (by === 'itself') await startAgain()
      const sinceMs = by === 'itself' ? performance.now() : killedMs
      const ms = (await awaitAll()) - sinceMs
      if (by === 'another') await startAgain()
      return { ms, twice: (await receiver.count()) - before - deliveries }
    },
  }
}

const selectDelivered = "SELECT count(*)::int AS count FROM outcomes WHERE state = 'delivered'"

async function countDelivered(db: Database): Promise<number> {
  const [row] = await ask<{ count: number }>(db, selectDelivered)
  return row!.count
}
