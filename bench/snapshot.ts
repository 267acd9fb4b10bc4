/**
 * A report that has been reading for an hour while 500 events a second went through: nothing that died meanwhile can be removed. Beside the same
 * hour without it. The hour is written in a minute, in the shape that the engine gives it: rows that come and go, a transaction each few.
 */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { statement } from '../src/database/database.ts'
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
/** What a dispatcher reads at once at that load, and what is written to the log of its reading. */
const eventsOfRead = 3
const transactions = 1_200
/** Workers report each second. */
const reports = 3_600
const anHourMs = 3_600_000

export const snapshot: Benchmark = {
  name: 'snapshot',
  async run(stage, { rows = anHour }) {
    const receiver = await startReceiver(stage)
    const [held, free] = [await openBranches(stage, here, receiver), await openBranches(stage, here, receiver)]
    for (const house of [held, free]) await house.publish(perSecond, warmUpMs)
    const touches = await countTouches(free)
    await openSnapshot(stage, held.gateway.connectionString)
    await Promise.all([liveThrough(held, rows, touches), liveThrough(free, rows, touches)])
    await free.gateway.db.script('VACUUM')
    await Promise.all([held, free].map((house) => house.gateway.db.script('ANALYZE; CHECKPOINT')))
    for (const house of [held, free]) await house.publish(perSecond, warmUpMs)
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

const selectTouches = statement(
  'bench_touches',
  `SELECT n_tup_upd::float8 / (SELECT count(*) FROM lanes) AS touches FROM pg_stat_user_tables WHERE relname = 'lanes'`,
)

/** How often a lane is written in an hour at this load: when it changes hands, and not while it is held. */
async function countTouches(house: Branches): Promise<number> {
  const read = async () => (await house.gateway.db.query<{ touches: number }>(selectTouches))[0]!.touches
  // What sessions have counted is told a second later; that lanes were idle before and will be after is not the load's.
  const publishing = house.publish(perSecond, countingMs + 2 * tellingMs)
  await wait(tellingMs)
  const before = await read()
  await wait(countingMs)
  const touches = ((await read()) - before) * (anHourMs / countingMs)
  await publishing
  process.stderr.write(`  a lane is written ${Math.round(touches)} times an hour\n`)
  return touches
}

/** Nobody sees the rows, because who makes them removes them; what is left behind in tables and indexes is the same. */
async function liveThrough({ gateway: { db } }: Branches, events: number, touches: number): Promise<void> {
  const bite = Math.ceil(events / transactions)
  for (let done = 0; done < transactions; done++) {
    await db.script(printBite(bite, anHourMs * (1 - done / transactions)))
    const report = 'UPDATE workers SET seen_at = clock_timestamp(); COMMIT; BEGIN; SET LOCAL synchronous_commit = off;'
    const due = Math.round((touches * (done + 1)) / transactions) - Math.round((touches * done) / transactions)
    const touch = "UPDATE lanes SET attention_at = clock_timestamp() + interval '1 hour';"
    await db.script(`BEGIN; SET LOCAL synchronous_commit = off; ${touch.repeat(due)} COMMIT;
      BEGIN; SET LOCAL synchronous_commit = off; ${report.repeat(reports / transactions)} COMMIT`)
  }
  await db.script('UPDATE lanes SET attention_at = clock_timestamp()')
  // Dispatchers have read all of it.
  await db.script(`INSERT INTO inbox_reads (part, number, read, day)
    SELECT part, max(number) + 1, pg_current_snapshot(), max(day) FROM inbox_reads GROUP BY part`)
}

function printBite(events: number, agoMs: number): string {
  return `DO $$
    DECLARE
      parts smallint[] := ARRAY(SELECT generate_series(0, 15));
      lanes bigint[] := ARRAY(SELECT webhook_id FROM lanes);
      before bigint := (SELECT last_value + delivery_offset FROM delivery_numbers, days WHERE day = day_of(now()));
    BEGIN
      INSERT INTO inbox (part, event_id, branch_id, environment, kind, entity, simulated)
      SELECT n % 16, n, n % 16, 'live', 'TRANSACTION', 'transaction:' || -n, false FROM generate_series(1, ${events}) AS n;
      DELETE FROM inbox WHERE part = ANY (parts) AND xid = pg_current_xact_id();
      INSERT INTO inbox_reads (part, number, read, day)
      SELECT n % 16, -n, pg_current_snapshot(), 0 FROM generate_series(1, ${events}, ${eventsOfRead}) AS n;
      DELETE FROM inbox_reads WHERE part = ANY (parts) AND number < 0;
      INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
      SELECT before + n, lanes[1 + n % cardinality(lanes)], n, 'transaction:' || -before - n, 0, now() - interval '1 ms' * ${agoMs}, now()
      FROM generate_series(1, ${events}) AS n;
      DELETE FROM queued_deliveries WHERE id > before;
      PERFORM setval('delivery_numbers', nextval('delivery_numbers') + ${events});
    END $$`
}
