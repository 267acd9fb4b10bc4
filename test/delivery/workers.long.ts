/**
 * Who of the workers lives: the lanes of one that is gone go on at once, those of one that lives stay its
 * own. The clock stands still unless it is moved.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { hour, second } from '../../src/clock.ts'
import type { Listener } from '../../src/database/database.ts'
import { lifeLock } from '../../src/webhooks/engine/workers.sql.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { gate } from '../support/receiver.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine({ ROLES: 'api' })
})
afterEach(() => engine.close())

/** A worker as the database knows it, with a webhook's lane in its hands. */
async function makeStranger(webhookId: number): Promise<number> {
  const now = engine.house.clock.now()
  const [worker] = await engine.sql<{ number: number }>(
    'INSERT INTO workers (id, seen_at, lanes) VALUES (gen_random_uuid(), $1, 1) RETURNING number',
    [now],
  )
  const { number } = worker!
  await hold(webhookId, number)
  return number
}

/** A webhook whose lane the node at work has had, and no longer has. */
async function makeSleeper(): Promise<Webhook> {
  const webhook = await engine.makeWebhook('/a')
  await engine.idle()
  return webhook
}

/** As taking it would. */
const hold = (webhookId: number, number: number) =>
  engine.sql('UPDATE cursors SET holder = $2, epoch = epoch + 1 WHERE webhook_id = $1', [webhookId, number])

const live = (number: number): Promise<Listener> =>
  engine.db.listen(
    'nothing',
    () => {},
    () => {},
    { kind: lifeLock, number },
  )

/** A node that has looked who else is there. */
async function openNodeAtWork(): Promise<void> {
  const [gone] = await engine.sql<{ number: number }>(
    'INSERT INTO workers (id, seen_at, lanes) VALUES (gen_random_uuid(), $1, 0) RETURNING number',
    [engine.house.clock.now()],
  )
  await engine.openNode({ ROLES: 'worker' })
  await eventually(
    'its first look',
    async () => !(await workers()).some(({ number }) => number === gone!.number),
  )
}

const workers = () =>
  engine.sql<{ number: number; missed_at: Date | null }>('SELECT * FROM workers ORDER BY number')

test('a node that starts takes what one that is gone has left in hand', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.publish(...entities(3))
  const gone = await makeStranger(webhook.id)
  await engine.openNode({ ROLES: 'worker' })
  await engine.receiver.count('/a', 3)
  assert.ok(!(await workers()).some(({ number }) => number === gone))
})

test('a node at work takes them after a moment in which somebody might have come back', async () => {
  await openNodeAtWork()
  const webhook = await makeSleeper()
  const gone = await makeStranger(webhook.id)
  await engine.publish(...entities(3))
  await eventually('a worker that is missed', async () =>
    (await workers()).some(({ number, missed_at }) => number === gone && missed_at !== null),
  )
  assert.equal(engine.receiver.at('/a').length, 0)
  engine.house.clock.advance(second)
  await engine.receiver.count('/a', 3)
})

test('one that was missed by a clock that has been set back since is gone all the same', async () => {
  await openNodeAtWork()
  const webhook = await makeSleeper()
  engine.house.clock.advance(hour)
  const gone = await makeStranger(webhook.id)
  await engine.publish(...entities(3))
  await eventually('a worker that is missed', async () =>
    (await workers()).some(({ number, missed_at }) => number === gone && missed_at !== null),
  )
  engine.house.clock.advance(-hour)
  await engine.receiver.count('/a', 3)
})

test('one that was missed and is back is not taken for gone', async () => {
  await openNodeAtWork()
  const webhook = await makeSleeper()
  const number = await makeStranger(webhook.id)
  const missed = async () => (await workers()).find((worker) => worker.number === number)?.missed_at
  await eventually('a worker that is missed', async () => (await missed()) !== null)
  const listener = await live(number)
  await eventually('nobody is missed', async () => (await missed()) === null)
  engine.house.clock.advance(second)
  await engine.publish(...entities(3))
  const other = await engine.makeWebhook('/other')
  await engine.publish({ entity: 'transaction:other' })
  await engine.receiver.count('/other', 1)
  assert.ok(other && (await workers()).some((worker) => worker.number === number))
  assert.equal(engine.receiver.at('/a').length, 0)
  await listener.close()
})

test('one that lives and is silent keeps its lanes for twelve seconds', async () => {
  const webhook = await engine.makeWebhook('/a')
  const number = await makeStranger(webhook.id)
  const listener = await live(number)
  await engine.openNode({ ROLES: 'worker' })
  await engine.publish({})
  engine.house.clock.advance(11 * second)
  await eventually('a worker at work', async () => (await workers()).length === 2)
  assert.equal(engine.receiver.at('/a').length, 0)
  engine.house.clock.advance(2 * second)
  await engine.receiver.count('/a', 1)
  await listener.close()
})

test('one that was taken for gone settles nothing, takes a new number, and goes on', async () => {
  const node = await engine.openNode({ ROLES: 'worker' })
  const webhook = await engine.makeWebhook('/slow')
  const held = gate()
  engine.receiver.on('/slow', held.behaviour)
  await engine.publish({})
  await engine.receiver.count('/slow', 1)
  const [before] = await workers()
  await engine.sql('DELETE FROM workers')
  await eventually('a new number', async () => {
    const [now] = await workers()
    return now !== undefined && now.number !== before!.number
  })
  held.open()
  await eventually('delivered', async () => (await engine.deliveries(webhook))[0]?.state === 'delivered')
  await node.close()
  assert.deepEqual(await workers(), [])
})

test('lanes that are held for nobody are found', async () => {
  await engine.openNode({ ROLES: 'worker' })
  const webhook = await engine.makeWebhook('/a')
  await hold(webhook.id, -1)
  await engine.publish({})
  await engine.receiver.count('/a', 1)
})

test('what could not be written down at first is written down when it can be, and is not sent again', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.sql(
    `CREATE FUNCTION refuse() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$`,
  )
  await engine.sql('ALTER TABLE outcomes ADD CONSTRAINT refuse CHECK (refuse()) NOT VALID')
  await engine.openNode({ ROLES: 'worker' })
  await engine.publish({})
  await engine.receiver.count('/a', 1)
  assert.equal((await engine.deliveries(webhook))[0]?.state, 'waiting')
  await engine.sql('ALTER TABLE outcomes DROP CONSTRAINT refuse')
  await engine.idle()
  assert.deepEqual(
    (await engine.deliveries(webhook)).map(({ state, attempts }) => [state, attempts]),
    [['delivered', 1]],
  )
  assert.equal(engine.receiver.at('/a').length, 1)
})

test('a lane that a worker holds and has forgotten is free again though the worker lives', async () => {
  const webhook = await engine.makeWebhook('/a')
  await openNodeAtWork()
  const [worker] = await workers()
  await hold(webhook.id, worker!.number)
  await engine.publish({})
  await engine.receiver.count('/a', 1)
})
