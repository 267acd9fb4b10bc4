/** Two that want the same rows at the same moment: nothing is lost and nobody is left behind. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { type Sql, statement } from '../../src/database/database.ts'
import { createDeliveries, numberEvents, tryLockDispatch } from '../../src/webhooks/dispatch.sql.ts'
import { dispatchOnce } from '../../src/webhooks/dispatch.ts'
import { type DueDelivery, openLane } from '../../src/webhooks/lane.ts'
import { openSettlements } from '../../src/webhooks/settlement.ts'
import { deleteWebhook } from '../../src/webhooks/webhook.ts'
import { entities, eventually, openEngine } from '../support/engine.ts'
import { operator } from '../support/gateway.ts'

const engine = await openEngine({ ROLES: 'api' })
after(() => engine.close())
const { db, sql } = engine

/** A door that is opened from outside. */
function makeDoor() {
  let open: () => void = () => {}
  const passed = new Promise<void>((resolve) => (open = resolve))
  return { open, passed }
}

async function countWaitingBackends(): Promise<number> {
  const [row] = await sql<{ count: number }>(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock'`)
  return Number(row!.count)
}

test('a settlement that a deadlock ended is made again: both attempts are written down', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.publish(...entities(2))
  await dispatchOnce(db, engine.house.clock.now(), 100)
  const [first, second] = await engine.deliveries(webhook)
  const claimId = randomUUID()
  await sql('UPDATE lanes SET claim_id = $2, attention_at = $3 WHERE webhook_id = $1', [
    ...[webhook.id, claimId, engine.house.clock.now()],
  ])
  const lane = openLane({
    webhookId: webhook.id,
    branchId: engine.branchId,
    claimId,
    leasedUntilMs: Number.POSITIVE_INFINITY,
    failures: 0,
    failingSince: undefined,
  })
  const now = engine.house.clock.now()
  const settlements = openSettlements(db)
  const settle = (delivery: { id: number }) => {
    const due: DueDelivery = {
      ...{ webhook_id: webhook.id, branch_id: engine.branchId, due_at: now, attempts: 0, tries: 0 },
      ...{ uid: '', published_at: now, traceparent: null, body: '', url: '' },
      ...delivery,
    }
    const outcome = { kind: 'accepted', status: 200, response: '' } as const
    return settlements.run({ lane, delivery: due, outcome, at: now, durationMs: 1, now, disable: undefined })
  }
  const touch = (on: Sql, id: number) =>
    on.query(statement('', 'SELECT FROM deliveries WHERE id = $1 FOR UPDATE'), [id])
  const deadlocks = async () =>
    Number(
      (
        await sql<{ deadlocks: number }>('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
      )[0]!.deadlocks,
    )
  const before = await deadlocks()
  let settled: Promise<{ accepted: boolean }[]> | undefined
  await db.transaction(async (rival) => {
    // The rival is patient; the settlement notices the circle first and is the one that PostgreSQL ends.
    await rival.script("SET LOCAL deadlock_timeout = '1min'")
    await touch(rival, second!.id)
    settled = Promise.all([settle(first!), settle(second!)])
    await eventually('the settlement waits for the rival', async () => (await countWaitingBackends()) > 0)
    await touch(rival, first!.id)
  })
  assert.deepEqual(
    (await settled)!.map((each) => each.accepted),
    [true, true],
  )
  assert.deepEqual(
    (await engine.deliveries(webhook)).map((delivery) => delivery.state),
    ['delivered', 'delivered'],
  )
  assert.equal((await engine.attempts(webhook)).length, 2)
  await eventually('the deadlock is counted', async () => (await deadlocks()) > before)
})

test('a webhook that is deleted while its deliveries are being created keeps none that waits', async () => {
  const webhook = await engine.makeWebhook('/b')
  await engine.publish({ entity: 'transaction:9' })
  const door = makeDoor()
  const created = makeDoor()
  const dispatching = db.transaction(async (on) => {
    await on.query(tryLockDispatch)
    const events = await on.query<{ id: number }>(numberEvents, [100])
    await on.query(createDeliveries, [events.map((event) => event.id), engine.house.clock.now(), 5])
    created.open()
    await door.passed
  })
  await created.passed
  const deleting = deleteWebhook(db, webhook, operator, engine.house.clock.now())
  await eventually('the deletion waits for the dispatch', async () => (await countWaitingBackends()) > 0)
  door.open()
  await Promise.all([dispatching, deleting])
  assert.deepEqual(
    (await engine.deliveries(webhook)).map((delivery) => delivery.state),
    ['canceled'],
  )
})
