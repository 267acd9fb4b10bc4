/**
 * A lane and those who have it: workers that take it, lose it, load it anew and put it down, each at a moment
 * that a lock holds still.
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { after, hour } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import * as kernel from '../../src/webhooks/engine/kernel.sql.ts'
import { giveNumber, lifeLock, registerWorker } from '../../src/webhooks/engine/workers.sql.ts'
import { allParts, partOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { fail, gate } from '../support/receiver.ts'
import { type EngineHouse, openEngineHouse } from './house.ts'

async function openHouse(t: TestContext) {
  const house = await openEngineHouse()
  t.after(() => house.close())
  const branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/one')
  return { house, branch, webhook, ...asked(house) }
}

const asked = ({ sql, receiver }: EngineHouse) => ({
  outcomes: (webhook: number) =>
    sql<{ seq: number; state: string }>(
      'SELECT seq, state FROM outcomes WHERE webhook_id = $1 ORDER BY seq, attempt',
      [webhook],
    ),
  seen: (path: string) =>
    receiver.received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body).entity),
})

/** As long as the work lasts, nobody else gets this lock. */
const locking = (
  db: Database,
  lock: string,
  work: (sql: Parameters<Parameters<Database['transaction']>[0]>[0]) => Promise<void>,
) =>
  db.transaction(async (sql) => {
    await sql.script(lock)
    await work(sql)
  })

test('whoever takes a lane over knows what was settled until the moment that it was taken', async (t) => {
  const { house, outcomes, seen } = await openHouse(t)
  // Of the part that a worker takes last: when it has a lane of it, it is at no other.
  let branch = await house.makeBranch()
  while (partOf(branch) !== allParts.at(-1)) branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/asleep')
  const other = await house.makeWebhook(branch, '/other')
  await house.number(branch, ['a', 'b'])
  await house.sql('UPDATE cursors SET wake_at = $2, rested_at = $3 WHERE webhook_id = $1', [
    webhook,
    after(house.clock.now(), hour),
    house.clock.now(),
  ])
  await house.openWorker()
  await eventually('a worker that has taken what it could', async () => (await outcomes(other)).length === 2)
  await locking(house.db, 'LOCK TABLE cursors IN SHARE ROW EXCLUSIVE MODE', async (sql) => {
    house.clock.advance(hour)
    await house.untilBlocked()
    await ask(
      sql,
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
          outcome)
         SELECT l.part, $1, 1, 0, 1, l.day, l.created_at, 1, 200, 'delivered', 'accepted' FROM log l
           WHERE l.part = $2 AND l.seq = 1`,
      [webhook, partOf(branch)],
    )
  })
  await eventually('both outcomes', async () => (await outcomes(webhook)).length === 2)
  assert.deepEqual(seen('/asleep'), ['b'])
})

test('a lane that is taken begins at once with what its log has: it does not wait for the next look', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { house, branch, webhook, outcomes } = await openHouse(t)
  await house.number(branch, ['a', 'b'])
  await house.openWorker()
  await eventually('both outcomes', async () => (await outcomes(webhook)).length === 2)
})

test('what was in the air during an act is written down after it', async (t) => {
  const { house, branch, webhook, outcomes, seen } = await openHouse(t)
  const { behaviour, open } = gate()
  house.receiver.on('/one', behaviour)
  await house.number(branch, ['a', 'a'])
  await house.openWorker()
  await house.receiver.wait(1)
  await house.sql('SELECT touch_cursor($1::smallint, $2)', [partOf(branch), webhook])
  open()
  await eventually('both outcomes', async () => (await outcomes(webhook)).length === 2)
  assert.deepEqual(seen('/one'), ['a', 'a'])
})

test('a lane is not loaded with what was read before something of it was written down', async (t) => {
  const { house, branch, webhook, outcomes, seen } = await openHouse(t)
  const { behaviour, open } = gate()
  house.receiver.on('/one', behaviour)
  await house.number(branch, ['a'])
  const worker = await house.openWorker()
  await house.receiver.wait(1)
  await locking(house.db, 'LOCK TABLE filters IN ACCESS EXCLUSIVE MODE', async () => {
    // As another node says it: once.
    await house.sql(`SELECT pg_notify('countersign_changes', $1)`, [`branch:${branch}`])
    await house.untilBlocked()
    open()
    await eventually('the outcome', async () => (await outcomes(webhook)).length === 1)
  })
  await house.publish(branch, ['b'])
  worker.published([partOf(branch)])
  await eventually('the next outcome', async () => (await outcomes(webhook)).length === 2)
  assert.deepEqual(seen('/one'), ['a', 'b'])
})

test('a lane that is paused while it is loaded anew sends nothing: it is loaded once more before', async (t) => {
  const { house, branch, webhook, outcomes, seen } = await openHouse(t)
  await house.number(branch, ['a'])
  const worker = await house.openWorker()
  await eventually('the first outcome', async () => (await outcomes(webhook)).length === 1)
  const loadAnew = () => house.sql('UPDATE partners SET updated_at = now() WHERE branch_id = $1', [branch])
  await locking(house.db, 'LOCK TABLE filters IN ACCESS EXCLUSIVE MODE', async () => {
    await loadAnew()
    // It has read the cursor, and not yet the rest.
    await house.untilBlocked()
    await house.sql('SELECT open_cursors($1::smallint, $2::bigint[], false)', [partOf(branch), [webhook]])
    await loadAnew()
    worker.numbered(await house.number(branch, ['b']))
  })
  const holders = 'SELECT FROM cursors WHERE webhook_id = $1 AND holder IS NOT NULL'
  await eventually('a lane of nobody', async () => (await house.sql(holders, [webhook])).length === 0)
  assert.deepEqual(seen('/one'), ['a'])
})

test('a worker lets go of a lane that somebody else has taken, and what it sent is not written down', async (t) => {
  const { house, branch, webhook, outcomes, seen } = await openHouse(t)
  const other = await house.makeWebhook(branch, '/other')
  const worker = await house.openWorker()
  await house.publish(branch, ['a'])
  worker.published([partOf(branch)])
  const hasEnded = async (id: number, count: number) => (await outcomes(id)).length === count
  await eventually('both outcomes', async () => (await hasEnded(webhook, 1)) && (await hasEnded(other, 1)))
  const { number } = await house.db.one(giveNumber)
  await house.db.query(registerWorker, { id: randomUUID(), number, now: house.clock.now() })
  const lost = () => {}
  const life = await house.db.listen('countersign_nothing', lost, lost, { kind: lifeLock, number })
  t.after(() => life.close())
  await house.sql('UPDATE cursors SET holder = $1, epoch = epoch + 1 WHERE webhook_id = $2', [
    number,
    webhook,
  ])
  await house.publish(branch, ['b'])
  worker.published([partOf(branch)])
  await eventually('a worker with one lane', async () => {
    const lanes = await house.sql<{ lanes: number }>('SELECT lanes FROM workers WHERE number <> $1', [number])
    return lanes[0]?.lanes === 1
  })
  await eventually('the outcome of the other', () => hasEnded(other, 2))
  await house.publish(branch, ['c'])
  worker.published([partOf(branch)])
  await eventually('the next outcome of the other', () => hasEnded(other, 3))
  assert.deepEqual([seen('/one'), (await outcomes(webhook)).length], [['a', 'b'], 1])
})

test('a lane that is held finds by itself what nobody told it of', async (t) => {
  const { house, branch, webhook, outcomes } = await openHouse(t)
  await house.number(branch, ['a'])
  await house.openWorker()
  await eventually('the first outcome', async () => (await outcomes(webhook)).length === 1)
  await house.number(branch, ['b'])
  await eventually('the second outcome', async () => (await outcomes(webhook)).length === 2)
})

test('a lane falls asleep until its retry is due', async (t) => {
  const { house, branch, webhook } = await openHouse(t)
  house.receiver.on('/one', fail)
  await house.number(branch, ['a'])
  await house.openWorker(1)
  const asleep = await eventually('a lane that sleeps', async () => {
    const [cursor] = await house.sql<{ wakeAt: Date; dueAt: Date }>(
      `SELECT CASE WHEN isfinite(c.wake_at) THEN c.wake_at END AS "wakeAt", x.due_at AS "dueAt"
       FROM cursors c JOIN exceptions x USING (part, webhook_id) WHERE webhook_id = $1 AND c.holder IS NULL`,
      [webhook],
    )
    return cursor
  })
  assert.deepEqual(asleep.wakeAt, asleep.dueAt)
})

test('a worker that closes has written down what it sent, and its lanes are awake and free', async (t) => {
  const { house, branch, webhook, outcomes } = await openHouse(t)
  const { behaviour, open } = gate()
  house.receiver.on('/one', behaviour)
  await house.number(branch, ['a'])
  const worker = await house.openWorker()
  await house.receiver.wait(1)
  let isClosed = false
  const closing = worker.close().then(() => {
    isClosed = true
  })
  // Longer than it takes to close what has nothing in the air.
  for (let trip = 0; trip < 300 && !isClosed; trip++) await house.sql('SELECT')
  assert.equal(isClosed, false)
  open()
  await closing
  assert.equal((await outcomes(webhook)).length, 1)
  const taken = await house.db.query(kernel.take, {
    part: partOf(branch),
    worker: 99,
    now: house.clock.now(),
    most: 10,
    exceptIds: [],
  })
  assert.deepEqual(taken, [{ webhookId: webhook }])
})
