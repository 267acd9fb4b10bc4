/**
 * A report that reads for an hour keeps every row of the outbox that was numbered meanwhile: dead, and not to
 * be removed. Looks pass those of the last seconds alone: above a floor, which waits for transactions that
 * have published and have not ended.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, second } from '../../src/clock.ts'
import { openDatabase, type Sql } from '../../src/database/database.ts'
import { partsToLook } from '../../src/webhooks/events/log.sql.ts'
import { learnLayout } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { lookAtSome, lookOnce } from '../support/look-inside.ts'

const part = 1
const dead = 20_000
/** The floor rises so often. */
const everyMs = 10 * second

const { url } = await keepOpen(openTestDatabase())
const db = await keepOpen(openDatabase({ connectionString: url }))
const reader = await keepOpen(openDatabase({ connectionString: url }))
await learnLayout(db)
let now = new Date('2026-03-02T10:00:00Z')
const pass = (ms: number) => {
  now = after(now, ms)
}

const publishOne = (sql: Sql) =>
  sql.script(`INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
    VALUES (${part}, 2, now(), 'TRANSACTION', 'SUBMITTED', 'transaction:1', '{}')`)

const countLooked = async () => (await lookOnce(db, part, now)).entries.length

const selectRead = "SELECT idx_tup_read AS read FROM pg_stat_user_indexes WHERE indexrelname = 'outbox_pkey'"
/** How many entries of the outbox's index are passed meanwhile. */
async function countRead(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await db.transaction((sql) => sql.script('SELECT pg_stat_force_next_flush()'))
    const [row] = await ask<{ read: number }>(db, selectRead)
    return row!.read
  }
  const before = await read()
  await work()
  return (await read()) - before
}

async function readFloor(): Promise<number> {
  const [row] = await ask<{ floor: number }>(db, 'SELECT floor FROM outbox_floors WHERE part = $1', [part])
  return row!.floor
}

async function findParts(): Promise<number[]> {
  const [row] = await ask<{ parts: number[] }>(db, `SELECT ${partsToLook} AS parts`)
  return row!.parts
}

/** The second time it rises to what had been given at the first. */
async function raiseTwice(): Promise<void> {
  for (let n = 0; n < 2; n++) {
    pass(everyMs + 1)
    await countLooked()
  }
}

test('a look passes what died in the last seconds, and not the hour before', async () => {
  await db.script('SELECT open_day(260302)')
  await reader.transaction(async (report) => {
    await report.script('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM webhooks')
    await db.script(`INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
      SELECT ${part}, 2, now(), 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, '{}' FROM generate_series(1, ${dead}) AS n`)
    await db.script(`DELETE FROM outbox WHERE part = ${part}`)
    await raiseTwice()
    await publishOne(db)
    assert.ok((await findParts()).includes(part))
    const read = await countRead(async () => {
      assert.equal(await countLooked(), 1)
      assert.equal(await countLooked(), 0)
      assert.ok(!(await findParts()).includes(part))
    })
    assert.ok(read < dead / 10, `${read} entries were passed`)
  })
})

test('what commits late is numbered as soon as it is there, however long that took', async () => {
  await raiseTwice()
  await reader.transaction(async (late) => {
    await publishOne(late)
    await publishOne(db)
    assert.equal(await countLooked(), 1)
    for (let n = 0; n < 3; n++) await raiseTwice()
    await publishOne(db)
    assert.equal(await countLooked(), 1)
  })
  assert.ok((await findParts()).includes(part))
  assert.equal(await countLooked(), 1)
})

test('nor is it lost where a savepoint was undone in between', async () => {
  await raiseTwice()
  await reader.transaction(async (late) => {
    await late.script('SAVEPOINT before')
    await publishOne(late)
    await late.script('ROLLBACK TO before')
    await publishOne(late)
    for (let n = 0; n < 3; n++) await raiseTwice()
  })
  assert.equal(await countLooked(), 1)
})

test('a clock that is set back keeps the floor from rising no longer than any other', async () => {
  pass(3_600 * second)
  await raiseTwice()
  pass(-7_200 * second)
  await publishOne(db)
  const before = await readFloor()
  await raiseTwice()
  await raiseTwice()
  assert.ok((await readFloor()) > before)
})

test('what does not fit into one look is read by the next, without waiting', async () => {
  await raiseTwice()
  pass(everyMs + 1)
  for (let n = 0; n < 5; n++) await publishOne(db)
  const few = async () => (await lookAtSome(db, part, now, 2)).entries.length
  assert.equal(await few(), 2)
  pass(everyMs + 1)
  assert.deepEqual([await few(), await few(), await few()], [2, 1, 0])
})
