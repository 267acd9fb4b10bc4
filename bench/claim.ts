/**
 * How long a worker takes to take lanes, load them and read what is first in their log, as the tables grow.
 */

import { type Database, openDatabase } from '../src/database/database.ts'
import { migrate } from '../src/database/migrations.ts'
import type { Statement } from '../src/database/statement.ts'
import { applyAsPartner, setPartnerStatus } from '../src/partners/partner.ts'
import * as kernel from '../src/webhooks/engine/kernel.sql.ts'
import { readLog } from '../src/webhooks/events/log.sql.ts'
import { feedOf, partOf } from '../src/webhooks/events/part.ts'
import { followByHand } from '../test/support/follow.ts'
import type { Benchmark } from './benchmark.ts'
import { printEntries } from './log-by-hand.ts'
import { startPostgres } from './postgres.ts'
import type { Result } from './report.ts'
import { median } from './rounds.ts'
import type { Stage } from './stage.ts'
import { timeUndone } from './undone.ts'

const lanesAtOnce = 10
const readAhead = 50
const repetitions = 300
const goal = 1.5

export const claim: Benchmark = {
  name: 'claim',
  async run(stage) {
    const small = await fill(stage, 10, 100)
    const deep = await fill(stage, 10, 100_000)
    const wide = await fill(stage, 10_000, 100)
    const [smallMs, deepMs, wideMs] = await measureEach([small, deep, wide])
    const against = (name: string, theirs: string, ours: number, beside: number): Result => ({
      ...{
        name,
        against: theirs,
        ratio: ours / beside,
        goal,
        atMost: true,
        ours,
        theirs: beside,
        unit: 'ms',
      },
    })
    return [
      against('claim, 1,000,000 waiting', '1,000 waiting', deepMs!, smallMs!),
      against('claim, 10,000 webhooks', '10 webhooks', wideMs!, smallMs!),
    ]
  },
}

interface FilledDatabase {
  readonly db: Database
  readonly branchId: number
}

/** So many webhooks, so many deliveries waiting in each. */
async function fill(stage: Stage, webhooks: number, waiting: number): Promise<FilledDatabase> {
  const db = openDatabase({ connectionString: await startPostgres(stage) })
  stage.owns(() => db.close())
  await migrate(db)
  const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })
  const partner = await applyAsPartner(db, 'Bench Partner', act())
  await setPartnerStatus(db, partner, 'approved', undefined, act())
  const { branchId } = partner
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
    SELECT ${branchId}, 'live', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], now(), now()
    FROM generate_series(1, ${webhooks}) AS n;
    ${followByHand}
    ${printEntries(branchId, waiting)}`)
  await db.script('VACUUM ANALYZE')
  return { db, branchId }
}

async function measureEach(houses: readonly FilledDatabase[]): Promise<number[]> {
  const times: number[][] = houses.map(() => [])
  for (let n = 0; n < repetitions; n++) {
    for (const [index, house] of houses.entries()) times[index]!.push(await timeClaim(house))
  }
  return times.map(median)
}

interface Lanes {
  readonly part: number
  readonly webhookIds: readonly number[]
}

const loads: readonly Statement<Lanes, object>[] = [
  ...[kernel.loadCursors, kernel.loadFilters, kernel.loadExceptions, kernel.loadAgains],
  ...[kernel.loadAhead, kernel.loadReplays, kernel.loadReplayed],
]

/** Taken, loaded and read, then rolled back: the next finds the same. */
function timeClaim({ db, branchId }: FilledDatabase): Promise<number> {
  return timeUndone(db, async (sql) => {
    const part = partOf(branchId)
    const taken = await sql.query(kernel.take, {
      part,
      worker: 1,
      now: new Date(),
      most: lanesAtOnce,
      exceptIds: [],
    })
    const webhookIds = taken.map((lane) => lane.webhookId)
    for (const load of loads) await sql.query(load, { part, webhookIds })
    const feed = feedOf({ branchId, environment: 'live' })
    const read = await sql.query(readLog, { part, feed, after: 0, most: readAhead, bytes: 1024 * 1024 })
    if (webhookIds.length !== lanesAtOnce || read.length !== readAhead)
      throw new Error(`${read.length} were read.`)
  })
}
