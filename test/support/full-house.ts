/**
 * A database as weeks of traffic leave it: days of finished deliveries, webhooks that are far behind and
 * fail, and an outbox that nobody has read.
 */

import { day } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import { applyAsPartner, getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { openDay } from '../../src/webhooks/events/days.sql.ts'
import { defaultKinds } from '../../src/webhooks/events/kind.ts'
import { followWebhook } from '../../src/webhooks/subscriptions/cursor.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { usualSettings } from '../../src/webhooks/subscriptions/webhook-settings.ts'
import { insertWebhook } from '../../src/webhooks/subscriptions/webhooks.sql.ts'
import { ask } from './ask.ts'
import { TestClock } from './clock.ts'
import { openTestDatabase } from './database.ts'
import { followByHand } from './follow.ts'
import { operatorAct } from './gateway.ts'
import { openLenientDatabase } from './lenient-database.ts'

const branches = 20
const webhooksABranch = 3
const days = 5

export interface FullHouse {
  readonly db: Database
  readonly clock: TestClock
  /**
   * The first has no exception; of each other every fifth entity fails, and every fifth entry is sent again.
   */
  readonly webhooks: readonly Webhook[]
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
  fill(rows: number): Promise<void>
  /** What waits leaves, somebody counts, and it comes back. */
  countWhileQuiet(): Promise<void>
  makeWebhook(branchId: number): Promise<Webhook>
  close(): Promise<void>
}

/** Empty, and counted while it was. From now on nobody counts but whoever is told to. */
export async function openFullHouse(): Promise<FullHouse> {
  const database = await openTestDatabase()
  const db = openLenientDatabase({ connectionString: database.url, connections: 5 })
  const clock = new TestClock()
  const sql = <Row extends object>(text: string, values: readonly unknown[] = []) =>
    ask<Row>(db, text, values)
  const makeWebhook = async (branchId: number) => {
    const chosen = { url: 'https://receiver.example/hook', kinds: defaultKinds, ...usualSettings }
    const values = { branchId, environment: 'live', ...chosen, now: clock.now() }
    const [webhook] = await db.query(insertWebhook, values)
    await followWebhook(db, webhook!)
    return webhook!
  }
  const webhooks: Webhook[] = []
  for (let n = 0; n < branches; n++) {
    const { branchId } = await applyAsPartner(db, `Partner ${n}`, operatorAct(clock.now()))
    await setPartnerStatus(
      db,
      await getPartner(db, String(branchId)),
      'approved',
      undefined,
      operatorAct(clock.now()),
    )
    for (let m = 0; m < webhooksABranch; m++) webhooks.push(await makeWebhook(branchId))
  }
  await makeOthers(sql, clock.now())
  const today = clock.now()
  for (let ago = days; ago >= 0; ago--) await db.query(openDay, { day: dayBefore(today, ago) })
  await leaveAlone(sql)
  await sql('ANALYZE')
  return {
    ...{ db, clock, webhooks, sql, makeWebhook },
    async fill(rows) {
      const branchIds = [...new Set(webhooks.map(({ branchId }) => branchId))]
      for (let ago = days; ago > 0; ago--)
        await fillDay(sql, branchIds, new Date(today.getTime() - ago * day), rows)
      await fillQueue(sql, branchIds, today, rows)
    },
    countWhileQuiet: () => countWhileQuiet(sql),
    async close() {
      await db.close()
      await database.close()
    },
  }
}

function dayBefore(today: Date, ago: number): number {
  return Number(new Date(today.getTime() - ago * day).toISOString().slice(2, 10).replaceAll('-', ''))
}

/** Whom nobody sends anything. */
async function makeOthers(sql: FullHouse['sql'], now: Date): Promise<void> {
  await sql(
    `WITH made AS (
       INSERT INTO partners (name, status, created_at, updated_at)
       SELECT 'Other ' || n, 'approved', $1::timestamptz, $1 FROM generate_series(1, 1000) n
         RETURNING branch_id)
     INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
     SELECT branch_id, 'live', 'https://other.example/hook', $2::text[], $1, $1
       FROM made, generate_series(1, 2)`,
    [now, defaultKinds],
  )
  for (const text of followByHand.split(';').filter((each) => each.trim())) await sql(text)
}

async function leaveAlone(sql: FullHouse['sql']): Promise<void> {
  const tables = await sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  )
  for (const { name } of tables) await sql(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`)
}

/** So many entries of a feed, wanted by each of its webhooks. */
async function appendEntries(
  sql: FullHouse['sql'],
  at: Date,
  branchId: number,
  entries: number,
): Promise<void> {
  await sql(
    `INSERT INTO log (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
     SELECT part_of($2), feed_of($2, 'live'), (SELECT feed_head(part_of($2), feed_of($2, 'live'))) + n,
       day_of($1), false, $1, gen_random_uuid(), 'TRANSACTION', 'SUBMITTED',
       'transaction:' || n % 5000, '{}' FROM generate_series(1, $3::int) n`,
    [at, branchId, entries],
  )
  await sql(
    `INSERT INTO feed_days (part, feed, first, day) SELECT part, feed, min(seq), day FROM log
     WHERE part = part_of($1) AND feed = feed_of($1, 'live') AND day = day_of($2) GROUP BY part, feed, day
       ON CONFLICT DO NOTHING`,
    [branchId, at],
  )
}

/** Each delivery with one attempt; one in twenty was given up. */
async function fillDay(
  sql: FullHouse['sql'],
  branchIds: readonly number[],
  at: Date,
  rows: number,
): Promise<void> {
  for (const branchId of branchIds) {
    await appendEntries(sql, at, branchId, Math.ceil(rows / branches))
    await sql(
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
        outcome)
       SELECT l.part, w.id, l.seq, 0, 1, l.day, $1, 5, CASE l.seq % 20 WHEN 0
         THEN 500 ELSE 200 END, CASE l.seq % 20 WHEN 0 THEN 'exhausted' ELSE 'delivered' END,
         CASE l.seq % 20 WHEN 0 THEN 'refused' ELSE 'accepted' END
       FROM log l, webhooks w WHERE l.part = part_of($2) AND l.feed = feed_of($2, 'live')
         AND l.day = day_of($1) AND w.branch_id = $2`,
      [at, branchId],
    )
    await sql(
      'UPDATE cursors SET position = feed_head(part, feed) WHERE part = part_of($1) AND webhook_id IN (SELECT id FROM webhooks WHERE branch_id = $1)',
      [branchId],
    )
  }
}

/**
 * Nobody has read any of it: as much lies in the log, with what fails and what is sent again, and as much in
 * the outbox.
 */
async function fillQueue(
  sql: FullHouse['sql'],
  branchIds: readonly number[],
  now: Date,
  rows: number,
): Promise<void> {
  for (const branchId of branchIds) {
    await appendEntries(sql, now, branchId, Math.ceil(rows / branches))
    const ofBranch = `FROM log l, webhooks w WHERE l.part = part_of($2) AND l.feed = feed_of($2, 'live')
      AND l.day = day_of($1) AND w.branch_id = $2
      AND w.id > (SELECT min(id) FROM webhooks)`
    await sql(
      `INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
       SELECT l.part, w.id, l.entity, l.seq, l.day, 1, $1, $1 ${ofBranch} AND l.seq % 5 = 0 ORDER BY l.seq
         ON CONFLICT DO NOTHING`,
      [now, branchId],
    )
    await sql(
      `INSERT INTO agains (part, webhook_id, seq, round, day, entity, due_at, written_at)
       SELECT l.part, w.id, l.seq, 1, l.day, l.entity, $1, $1 ${ofBranch} AND l.seq % 5 = 1`,
      [now, branchId],
    )
  }
  await sql(
    `INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
     SELECT part_of(b), feed_of(b, 'live'), $1, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, '{}'
     FROM generate_series(1, $3::int) n, LATERAL (SELECT ($2::int[])[1 + n % cardinality($2::int[])] AS b)
       branch`,
    [now, branchIds, rows],
  )
}

const hot = ['outbox', 'exceptions', 'agains'] as const

async function countWhileQuiet(sql: FullHouse['sql']): Promise<void> {
  for (const table of hot) await sql(`CREATE TABLE away_${table} AS SELECT * FROM ${table}`)
  for (const table of hot) await sql(`DELETE FROM ${table}`)
  for (const table of hot) await sql(`VACUUM (TRUNCATE false) ${table}`)
  await sql('ANALYZE')
  for (const table of hot) {
    await sql(`INSERT INTO ${table} SELECT * FROM away_${table}`)
    await sql(`DROP TABLE away_${table}`)
  }
}
