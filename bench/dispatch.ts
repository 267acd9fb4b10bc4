/**
 * Numbering alone: events that have gathered get their numbers; webhooks are paused, so that nothing is sent.
 * Twenty branches. Whoever numbers writes the log: it is held there while events gather.
 */

import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from '../src/database/database.ts'
import { ask } from '../test/support/ask.ts'
import { followByHand } from '../test/support/follow.ts'
import type { Benchmark, Course, Figure } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import type { Credentials } from './requests.ts'
import { median } from './rounds.ts'
import { here, type Source } from './source.ts'
import type { Stage } from './stage.ts'

const branches = 20
const inRequest = 500
const rounds = 5
/**
 * Twice 12,700 and 3,800, which the engine with one dispatcher is said to have done: elsewhere, and perhaps
 * otherwise. `--against` tells on this machine.
 */
const widths = [
  { webhooks: 1, events: 20_000, goal: 25_400 },
  { webhooks: 5, events: 8_000, goal: 7_600 },
]

export const dispatch: Benchmark = {
  name: 'dispatch',
  async run(stage) {
    const course = await openCourse(stage, here)
    await course.measure()
    const measured: (readonly Figure[])[] = []
    for (let round = 0; round < rounds; round++) measured.push(await course.measure())
    return widths.map(({ goal }, index) => {
      const { name, unit } = measured[0]![index]!
      const ours = median(measured.map((figures) => figures[index]!.value))
      return {
        name,
        against: 'twice a figure from elsewhere',
        ratio: ours / goal,
        goal: 1,
        ours,
        theirs: goal,
        unit,
      }
    })
  },
  openCourse,
}

async function openCourse(stage: Stage, source: Source): Promise<Course> {
  const gateway = await startEmptyGateway(stage, { source })
  const publisher = await gateway.makePublisher()
  const groups: number[][] = []
  for (const { webhooks } of widths) groups.push(await makeBranches(gateway, webhooks))
  await gateway.db.script(`UPDATE webhooks SET state = 'paused'; ${followByHand}`)
  return {
    async measure() {
      const figures = []
      for (const [index, { webhooks, events }] of widths.entries()) {
        const value = await measureRate(gateway, publisher, groups[index]!, events)
        figures.push({
          name: `dispatch, ${webhooks} ${webhooks === 1 ? 'webhook' : 'webhooks'}`,
          value,
          unit: 'events/s',
        })
      }
      return figures
    },
  }
}

async function makeBranches(gateway: GatewayUnderTest, webhooks: number): Promise<number[]> {
  const urls = Array.from({ length: webhooks }, (_, n) => `http://127.0.0.1:9/${n}`)
  const ids: number[] = []
  for (let n = 0; n < branches; n++) ids.push(await gateway.makeBranch(urls))
  return ids
}

async function measureRate(
  { internal, db, connectionString }: GatewayUnderTest,
  publisher: Credentials,
  branchIds: readonly number[],
  events: number,
): Promise<number> {
  const before = await countNumbered(db)
  const letGo = await holdLog(connectionString)
  for (let sent = 0; sent < events; sent += inRequest) {
    const all = Array.from({ length: inRequest }, (_, n) => makeEvent(branchIds[n % branchIds.length]!))
    await send(internal, publishRequest(publisher, all))
  }
  const started = performance.now()
  await letGo()
  while ((await countNumbered(db)) < before + events) await wait(10)
  return (events * 1000) / (performance.now() - started)
}

async function holdLog(connectionString: string): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString })
  await holder.connect()
  await holder.query('BEGIN; LOCK TABLE log IN SHARE ROW EXCLUSIVE MODE')
  return async () => {
    await holder.query('COMMIT')
    await holder.end()
  }
}

/** Sequences have no gap: the last of each branch says how many there are. */
const selectNumbered = `SELECT coalesce(sum(feed_head(part_of(branch_id), feed_of(branch_id, 'live'))), 0)::int AS events
    FROM partners`

async function countNumbered(db: Database): Promise<number> {
  const [row] = await ask<{ events: number }>(db, selectNumbered)
  return row!.events
}
