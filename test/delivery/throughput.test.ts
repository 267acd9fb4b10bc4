/** How many deliveries there were, of all webhooks together, and how soon: from everything while that is little, from a sample when it is much. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { openDatabase, statement } from '../../src/database/database.ts'
import { lookedAtAColumn, readThroughput } from '../../src/webhooks/delivery-statistics.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'

const now = new Date('2026-03-02T10:00:00Z')

const database = await keepOpen(openTestDatabase())
const db = await keepOpen(openDatabase({ connectionString: database.url, connections: 2 }))
await db.script('SELECT open_day(260301); SELECT open_day(260302)')
beforeEach(() => db.script('TRUNCATE queued_deliveries, settled_deliveries'))

/** `n` counts from 1; each row is a delivery of webhook `n % 20`, created so many milliseconds before now. */
function fill(
  count: number,
  { agoMs, state = `'delivered'`, ms = '100' }: { agoMs: string; state?: string; ms?: string },
) {
  return db.script(`
    WITH told AS MATERIALIZED (
      SELECT days.delivery_offset + nextval('delivery_numbers') AS id, told.* FROM (
        SELECT n, ${state} AS state, '${now.toISOString()}'::timestamptz - (${agoMs}) * interval '1 ms' AS at
        FROM generate_series(1, ${count}) AS n ORDER BY n) told JOIN days ON days.day = day_of(told.at)),
    queued AS (
      INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at, attempts)
      SELECT id, n % 20, n, 'transaction:' || n, 0, at, at, 1 FROM told WHERE state = 'waiting')
    INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, created_at, settled_at, attempts)
    SELECT id, n % 20, n, 'transaction:' || n, state, at, at + (${ms}) * interval '1 ms', 1 FROM told WHERE state <> 'waiting'`)
}

test('without a delivery there is nothing to tell', async () => {
  const { all, columns, isSampled } = await readThroughput(db, 'hour', now)
  assert.deepEqual(all, { made: 0, accepted: 0, p50: null, p95: null, p99: null })
  assert.equal(columns.length, 12)
  assert.equal(isSampled, false)
})

test('a few deliveries are counted one by one, also where numbers are missing', async () => {
  await fill(90, {
    agoMs: '3600000 - n * 40000',
    state: `CASE WHEN n % 3 = 0 THEN 'waiting' ELSE 'delivered' END`,
    ms: 'n',
  })
  for (const table of ['queued_deliveries', 'settled_deliveries'])
    await db.script(`DELETE FROM ${table} WHERE id % 10 = 0`)
  const { all, columns, isSampled } = await readThroughput(db, 'hour', now)
  const [counted] = await db.query<{ made: number; delivered: number }>(
    statement('', `SELECT count(*) AS made, count(*) FILTER (WHERE state = 'delivered') AS delivered FROM deliveries`),
  )
  assert.deepEqual([all.made, all.accepted], [counted!.made, counted!.delivered])
  assert.equal(isSampled, false)
  assert.ok(columns.every(({ made }) => made > 0))
  assert.equal(all.p99, 89)
})

test('what is older than the period does not count, and what was sent again by hand is neither soon nor late', async () => {
  await fill(20, { agoMs: '7200000' })
  await fill(2, { agoMs: '1000', ms: '5' })
  await db.script(
    `UPDATE settled_deliveries SET repeats = 1, settled_at = created_at + interval '30 min' WHERE id = (SELECT max(id) FROM deliveries)`,
  )
  const { all } = await readThroughput(db, 'hour', now)
  assert.deepEqual([all.made, all.accepted, all.p99], [2, 2, 5])
})

test('of many a sample tells the same as all of them would, whichever webhook a delivery belongs to', async () => {
  // Webhook 7 answers late and webhook 3 never takes anything: one in twenty each. A step of 20 would see one webhook alone.
  const count = 24 * 2_000
  await fill(count, {
    agoMs: `86400000 - n * (86400000.0 / ${count})`,
    state: `CASE WHEN n % 20 = 3 THEN 'exhausted' ELSE 'delivered' END`,
    ms: 'CASE WHEN n % 20 = 7 THEN 5000 ELSE n % 100 END',
  })
  await db.script('ANALYZE settled_deliveries')
  const { all, columns, isSampled } = await readThroughput(db, 'day', now)
  assert.equal(isSampled, true)
  assert.equal(all.made, count)
  assert.ok(columns.every(({ made }) => Math.abs(made - 2_000) <= 1))
  assert.ok(Math.abs(all.accepted / count - 0.95) < 0.03, `delivered: ${all.accepted / count}`)
  assert.ok(Math.abs(all.p50! - 52) < 12, `p50: ${all.p50}`)
  assert.equal(all.p99, 5_000)
})

test('the sample is all that is read', async () => {
  await fill(30_000, { agoMs: '3600000 - n * 100' })
  // Of this session, less what it had counted before: PostgreSQL passes counts on when it finds the time.
  const counted = statement(
    '',
    `SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::int AS rows,
       coalesce(sum(seq_scan) FILTER (WHERE relname IN ('settled_deliveries_d260302', 'queued_deliveries')), 0)::int AS seq_scan
     FROM pg_stat_xact_user_tables WHERE relname = 'queued_deliveries' OR relname LIKE 'settled\\_deliveries\\_d%'`,
  )
  const { rows, scans } = await db.transaction(async (sql) => {
    const count = async () => (await sql.query<{ rows: number; seq_scan: number }>(counted))[0]!
    const before = await count()
    await readThroughput(sql, 'hour', now)
    const after = await count()
    return { rows: after.rows - before.rows, scans: after.seq_scan - before.seq_scan }
  })
  const halving = 13 * 20
  const most = 12 * lookedAtAColumn + halving + 10
  assert.ok(rows > 0, 'something was read')
  assert.ok(rows <= most, `${rows} rows were read`)
  assert.equal(scans, 0)
})

test('a column that passes midnight, where numbers jump, tells the same as any other', async () => {
  const count = 24 * 300
  const justAfter = new Date('2026-03-02T00:30:00Z')
  // The second day was opened long before it began: its numbers begin far behind its date.
  await db.script(`SELECT setval('delivery_numbers', (SELECT last_value FROM delivery_numbers) + 5000000)`)
  await fill(count, {
    agoMs: `(86400000 - n * (86400000.0 / ${count})) + 34200000`,
    state: `CASE WHEN n % 2 = 0 THEN 'exhausted' ELSE 'delivered' END`,
  })
  const { all, columns } = await readThroughput(db, 'day', justAfter)
  assert.equal(all.made, count)
  const [last, before] = [columns.at(-1)!, columns.at(-2)!]
  for (const column of [last, before]) {
    assert.ok(Math.abs(column.made - 300) <= 1, `made: ${column.made}`)
    assert.ok(Math.abs(column.accepted - 150) < 30, `accepted: ${column.accepted}`)
  }
})
