/**
 * A report that has been reading for an hour while 500 events a second went through: nothing that died
 * meanwhile can be removed. Beside the same hour without it. The hour is written in a minute, in the shape
 * that the engine gives it: rows that come and go, a transaction each few.
 */

import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { ask } from '../test/support/ask.ts'

import type { Benchmark } from './benchmark.ts'
import { type Branches, openBranches } from './branches.ts'
import { startReceiver } from './receiver.ts'
import { here } from './source.ts'
import type { Stage } from './stage.ts'
import { compareTails } from './tails.ts'

const anHour = 1_800_000
const perSecond = 500
const warmUpMs = 3_000
const countingMs = 6_000
const tellingMs = 2_000
const transactions = 1_200
/** Workers report each second. */
const reports = 3_600
const anHourMs = 3_600_000
/** How often the floor rises (migrations/0024-engine.sql). */
const floorMs = 10_000

export const snapshot: Benchmark = {
  name: 'snapshot',
  async run(stage, { rows = anHour }) {
    const receiver = await startReceiver(stage)
    const [held, free] = [
      await openBranches(stage, here, receiver),
      await openBranches(stage, here, receiver),
    ]
    for (const house of [held, free]) await house.publish(perSecond, warmUpMs)
    const touches = await countTouches(free)
    await openSnapshot(stage, held.gateway.connectionString)
    await Promise.all([liveThrough(held, rows, touches), liveThrough(free, rows, touches)])
    await free.gateway.db.script('VACUUM')
    await Promise.all([held, free].map((house) => house.gateway.db.script('ANALYZE; CHECKPOINT')))
    // What was published within the last seconds is above the floor of the outbox, and here that is the whole
    // hour.
    for (let round = 0; round < 3; round++) {
      for (const house of [held, free]) await house.publish(perSecond, warmUpMs)
      await wait(floorMs)
    }
    const name = `snapshot, ${rows.toLocaleString('en')} events ago`
    const tail = { name, against: 'without it', goal: 1.3, perSecond, quantile: 0.95 }
    return [await compareTails(tail, held, free)]
  },
}

async function openSnapshot(stage: Stage, connectionString: string): Promise<void> {
  const reader = new pg.Client({ connectionString })
  await reader.connect()
  stage.owns(() => reader.end())
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await reader.query('SELECT count(*) FROM webhooks')
}

const selectTouches = `SELECT n_tup_upd::float8 / (SELECT count(*) FROM cursors) AS touches FROM pg_stat_user_tables
    WHERE relname = 'cursors'`

/**
 * How often a cursor is written in an hour at this load: its position each second, and when it changes hands.
 */
async function countTouches(house: Branches): Promise<number> {
  const read = async () => (await ask<{ touches: number }>(house.gateway.db, selectTouches))[0]!.touches
  // What sessions have counted is told a second later; that lanes were idle before and will be after is not
  // the load's.
  const publishing = house.publish(perSecond, countingMs + 2 * tellingMs)
  await wait(tellingMs)
  const before = await read()
  await wait(countingMs)
  const touches = ((await read()) - before) * (anHourMs / countingMs)
  await publishing
  process.stderr.write(`  a cursor is written ${Math.round(touches)} times an hour\n`)
  return touches
}

/**
 * Nobody sees the rows, because who makes them removes them; what is left behind in tables and indexes is the
 * same.
 */
async function liveThrough({ gateway: { db } }: Branches, events: number, touches: number): Promise<void> {
  const bite = Math.ceil(events / transactions)
  for (let done = 0; done < transactions; done++) {
    await db.script(printBite(bite))
    const report =
      'UPDATE workers SET seen_at = clock_timestamp(); COMMIT; BEGIN; SET LOCAL synchronous_commit = off;'
    const due =
      Math.round((touches * (done + 1)) / transactions) - Math.round((touches * done) / transactions)
    const touch = 'UPDATE cursors SET hold_until = hold_until;'
    await db.script(`BEGIN; SET LOCAL synchronous_commit = off; ${touch.repeat(due)} COMMIT;
      BEGIN; SET LOCAL synchronous_commit = off; ${report.repeat(reports / transactions)} COMMIT`)
  }
}

/** What is published and numbered leaves a dead row in the outbox, and no other. */
function printBite(events: number): string {
  return `DO $$
    DECLARE
      before bigint := nextval('event_ids');
    BEGIN
      INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
      SELECT part_of(n), 0, now(), 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, repeat('x', 250)
        FROM generate_series(1, ${events}) AS n;
      DELETE FROM outbox WHERE part = ANY (ARRAY(SELECT part FROM parts)) AND id > before AND feed = 0;
    END $$`
}
