/** What a deleted webhook leaves behind is cleared away beside the traffic, by one node at a time. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type Sql, statement } from '../../src/database/database.ts'
import { openDeletedClearing } from '../../src/webhooks/clearing.ts'
import { lockPart } from '../../src/webhooks/part.sql.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { deleteWebhook, type Webhook } from '../../src/webhooks/webhook.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { openPatiently } from '../support/patiently.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine({ ROLES: 'api' })
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

async function fill(count: number): Promise<void> {
  await engine.sql('SELECT open_day(day_of($1))', [engine.house.clock.now()])
  await engine.sql(
    `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
     SELECT d.delivery_offset + nextval('delivery_numbers'), $1, 1, 'transaction:' || n, 0, $2, $2
     FROM generate_series(1, $3::int) n, days d WHERE d.day = day_of($2)`,
    [webhook.id, engine.house.clock.now(), count],
  )
}

const remove = () => deleteWebhook(engine.db, webhook, engine.house.act())

/** Locks of other databases of the server are other tests' own. */
const waits = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
const selectLeft = statement('', 'SELECT count(*) AS n FROM queued_deliveries')

/** For as long as it takes. */
async function holdPart(sql: Sql): Promise<void> {
  await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
  await sql.query(lockPart, [partOf(engine.branchId)])
}

const oneWaits = async () => (await engine.sql(waits)).length === 1

async function count(table: string): Promise<number> {
  return (await engine.sql<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n
}

test('whoever finds another node clearing leaves it alone, and does not queue for the part', async () => {
  await fill(10)
  const [one, other] = [1, 2].map(() => openDeletedClearing(engine.db, engine.house.clock)) as [
    ReturnType<typeof openDeletedClearing>,
    ReturnType<typeof openDeletedClearing>,
  ]
  let clearing: Promise<number> | undefined
  await engine.db.transaction(async (sql) => {
    await holdPart(sql)
    await remove()
    clearing = one.clearOnce()
    // The housekeeping of the node may have come first: then it is the one that waits.
    await eventually('one to wait for the part', oneWaits)
    assert.equal(await other.clearOnce(), 0)
  })
  await clearing
  await eventually('an empty queue', async () => (await count('queued_deliveries')) === 0)
  assert.equal(await count("settled_deliveries WHERE state = 'canceled'"), 10)
})

test('a node that is told to stop does not rest first, however long its last bite took', async () => {
  await fill(10)
  const heldMs = await engine.db.transaction(async (sql) => {
    await holdPart(sql)
    const startedMs = performance.now()
    await remove()
    await eventually('the node waits for the part', oneWaits)
    await sql.script('SELECT pg_sleep(1)')
    return performance.now() - startedMs
  })
  await eventually('its bite', async () => (await count('queued_deliveries')) === 0)
  const startedMs = performance.now()
  await engine.house.gateway.close()
  assert.ok(performance.now() - startedMs < 3 * heldMs, `${performance.now() - startedMs} ms after ${heldMs} ms`)
})

test('a node that is told to stop does not clear everything away first', async () => {
  await fill(3_000)
  let closing: Promise<void> | undefined
  await engine.db.transaction(async (sql) => {
    await holdPart(sql)
    await remove()
    await eventually('the node is about to take its first bite', oneWaits)
    closing = engine.house.gateway.close()
  })
  await closing
  const db = openPatiently({ connectionString: engine.house.databaseUrl, connections: 1 })
  const countLeft = async () => (await db.query<{ n: number }>(selectLeft))[0]!.n
  try {
    assert.equal(await countLeft(), 2_800, 'that bite, and no other')
    await engine.openNode({ ROLES: 'api' })
    await eventually('the rest to be cleared by the next', async () => (await countLeft()) === 0)
  } finally {
    await db.close()
  }
})
