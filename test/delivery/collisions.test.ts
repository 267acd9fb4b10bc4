/** Two that want the same rows at the same moment: nothing is lost and nobody is left behind. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { type Sql, statement } from '../../src/database/database.ts'
import { createDeliveries, numberEvents, tryLockDispatch } from '../../src/webhooks/dispatch.sql.ts'
import { dispatchOnce } from '../../src/webhooks/dispatch.ts'
import { printEventId } from '../../src/webhooks/event.ts'
import { type DueDelivery, openLane } from '../../src/webhooks/lane.ts'
import { openSettlements } from '../../src/webhooks/settlement.ts'
import { deleteWebhook } from '../../src/webhooks/webhook.ts'
import { transaction } from '../support/branch.ts'
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

interface Fired {
  readonly eventId: string
  readonly deliveries: readonly { readonly state: string }[]
}

test('a test hook whose dispatch PostgreSQL ends to resolve a deadlock was published, and is answered so', async () => {
  const webhook = await engine.makeWebhook('/c')
  const payload = transaction()
  // An unfinished delivery of the same entity, which the dispatch of the next one holds still.
  await engine.call('POST', '/v2/webhooks/transaction', payload)
  const [tail] = await engine.deliveries(webhook)
  let answered: ReturnType<typeof engine.call> | undefined
  await db.transaction(async (rival) => {
    // The rival is patient; the dispatch notices the circle first and is the one that PostgreSQL ends.
    await rival.script("SET LOCAL deadlock_timeout = '1min'")
    await rival.query(statement('', 'SELECT FROM lanes WHERE webhook_id = $1 FOR UPDATE'), [webhook.id])
    answered = engine.call('POST', '/v2/webhooks/transaction', payload)
    await eventually('the dispatch waits for the rival', async () => (await countWaitingBackends()) > 0)
    await rival.query(statement('', 'SELECT FROM deliveries WHERE id = $1 FOR UPDATE'), [tail!.id])
  })
  const answer = await answered!
  assert.equal(answer.status, 202, answer.text)
  const { deliveries } = answer.json<Fired>()
  assert.ok(deliveries.some(({ state }) => state === 'blocked'))
  assert.equal((await engine.deliveries(webhook)).length, 2, 'published once')
})

test('a test hook that was published is answered 202 with its event, whatever fails behind it, and is delivered later', async () => {
  const webhook = await engine.makeWebhook('/d')
  await db.script(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a disk is full' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION fail();`)
  const answer = await engine.call('POST', '/v2/webhooks/transaction', transaction())
  await db.script('DROP TRIGGER fail ON deliveries; DROP FUNCTION fail;')
  assert.equal(answer.status, 202, answer.text)
  const { eventId, deliveries } = answer.json<Fired>()
  assert.match(eventId, /^evt_[0-9a-f]{32}$/)
  assert.deepEqual(deliveries, [])
  await dispatchOnce(db, engine.house.clock.now(), 100)
  const made = await engine.deliveries(webhook)
  assert.deepEqual(
    made.map(({ uid }) => printEventId(uid)),
    [eventId],
  )
})

test('a redelivery that was set going is answered 202, although its webhook is gone when it is looked at again', async () => {
  const webhook = await engine.makeWebhook('/e')
  await engine.call('POST', '/v2/webhooks/transaction', transaction())
  const [delivery] = await engine.deliveries(webhook)
  await sql(`UPDATE deliveries SET state = 'exhausted', settled_at = $2 WHERE id = $1`, [delivery!.id, new Date()])
  await db.script(`
    CREATE FUNCTION vanish() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      UPDATE webhooks SET state = 'deleted' WHERE id = NEW.webhook_id; RETURN NULL; END $$;
    CREATE TRIGGER vanish AFTER UPDATE ON deliveries FOR EACH ROW EXECUTE FUNCTION vanish();`)
  const answer = await engine.call('POST', `/v2/deliveries/${delivery!.id}/redeliver`)
  await db.script('DROP TRIGGER vanish ON deliveries; DROP FUNCTION vanish;')
  assert.equal(answer.status, 202, answer.text)
  assert.equal(answer.json<{ id: number }>().id, delivery!.id)
})

test('a test hook waits five seconds for a dispatcher that hangs, and is answered', async () => {
  const answer = await db.transaction(async (rival) => {
    await rival.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await rival.query(tryLockDispatch)
    return engine.call('POST', '/v2/webhooks/transaction', transaction())
  })
  assert.equal(answer.status, 202, answer.text)
  assert.deepEqual(answer.json<Fired>().deliveries, [])
})
