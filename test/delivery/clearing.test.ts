/** What a deleted webhook leaves behind is cleared away beside the traffic, by one node at a time. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { openDeletedClearing } from '../../src/webhooks/clearing.ts'
import { lockPart } from '../../src/webhooks/part.sql.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { deleteWebhook, type Webhook } from '../../src/webhooks/webhook.ts'
import { type Engine, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

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
    await sql.query(lockPart, [partOf(engine.branchId)])
    await remove()
    clearing = one.clearOnce()
    const waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    // The housekeeping of the node may have come first: then it is the one that waits.
    await eventually('one to wait for the part', async () => (await engine.sql(waits)).length === 1)
    assert.equal(await other.clearOnce(), 0)
  })
  await clearing
  await eventually('an empty queue', async () => (await count('queued_deliveries')) === 0)
  assert.equal(await count("settled_deliveries WHERE state = 'canceled'"), 10)
})

test('a node that is told to stop does not rest first, however long its last bite took', async () => {
  await fill(10)
  const clears = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
  const heldMs = await engine.db.transaction(async (sql) => {
    await sql.query(lockPart, [partOf(engine.branchId)])
    const startedMs = performance.now()
    await remove()
    await eventually('the node waits for the part', async () => (await engine.sql(clears)).length === 1)
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
  await remove()
  const node = await engine.openNode({ ROLES: 'api' })
  await eventually('a first bite', async () => (await count('settled_deliveries')) > 0)
  await Promise.all([node.close(), engine.house.gateway.close()])
  const left = await engine.openNode({ ROLES: 'api' })
  const [row] = await left.context.db.query<{ n: number }>({
    name: '',
    text: 'SELECT count(*) AS n FROM queued_deliveries',
  })
  assert.ok(row!.n > 0)
  await eventually('the rest to be cleared by the next', async () => {
    const [rest] = await left.context.db.query<{ n: number }>({
      name: '',
      text: 'SELECT count(*) AS n FROM queued_deliveries',
    })
    return rest!.n === 0
  })
})
