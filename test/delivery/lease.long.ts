/** Who holds a lane, who may settle, what a worker leaves behind, and how it learns that there is work. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { second } from '../../src/clock.ts'
import { openRounds } from '../../src/database/rounds.ts'
import { openDelivery } from '../../src/gateway/worker-role.ts'
import { lifeLock } from '../../src/webhooks/engine/workers.sql.ts'
import { openAnnouncer } from '../../src/webhooks/events/announcer.ts'
import { isDistributed, partOf } from '../../src/webhooks/events/part.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { nodeOptions } from '../support/gateway.ts'
import { gate } from '../support/receiver.ts'
import { isWaiting } from '../support/waiting.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine()
})
afterEach(() => engine.close())

const listeners = () =>
  engine.sql<{ pid: number }>(
    `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = ${lifeLock} AND database = (SELECT oid
      FROM pg_database WHERE datname = current_database())`,
  )

/** Into the hands of somebody who lives and does nothing; answers who, and how to let it go. */
async function takeAway(of: Engine, webhookId: number) {
  const [worker] = await of.sql<{ number: number }>(
    `INSERT INTO workers (id, seen_at, lanes) VALUES (gen_random_uuid(), 'infinity', 1) RETURNING number`,
  )
  const { number } = worker!
  const nothing = () => {}
  const listener = await of.db.listen('nothing', nothing, nothing, { kind: lifeLock, number })
  await of.sql('UPDATE cursors SET holder = $2, epoch = epoch + 1 WHERE webhook_id = $1', [webhookId, number])
  const letGo = async () => {
    await of.sql(`UPDATE cursors SET holder = NULL, wake_at = '-infinity' WHERE holder = $1`, [number])
    await of.sql('DELETE FROM workers WHERE number = $1', [number])
    await listener.close()
  }
  return { number, letGo }
}

test('two workers at three lanes send every delivery once, and never one delivery at a time in two hands', async () => {
  await engine.openNode()
  await engine.openNode()
  // One that is known and does not hold its lock yet may be taken for gone by another that starts.
  await eventually('three that are known to live', async () => (await listeners()).length >= 3)
  const paths = ['/a', '/b', '/c']
  const webhooks = await Promise.all(paths.map((path) => engine.makeWebhook(path)))
  const underWay = new Set<string>()
  const twice: string[] = []
  for (const path of paths) {
    engine.receiver.on(path, ({ id }, response) => {
      const key = `${path} ${id}`
      if (underWay.has(key)) twice.push(key)
      underWay.add(key)
      response.once('close', () => underWay.delete(key))
      setImmediate(() => response.end())
    })
  }
  for (let round = 0; round < 10; round++) await engine.publish(...entities(30, `round-${round}`))
  await engine.receiver.until(() => engine.receiver.received.length >= 900, '900 requests')
  await engine.idle()
  assert.deepEqual(twice, [])
  assert.equal(engine.receiver.received.length, 900)
  for (const webhook of webhooks) {
    const states = (await engine.deliveries(webhook)).map(({ state, attempts }) => `${state} ${attempts}`)
    assert.deepEqual(new Set(states), new Set(['delivered 1']))
  }
})

test('a worker whose lane was taken away settles nothing; the next holder sends again', async () => {
  const webhook = await engine.makeWebhook('/slow')
  const held = gate()
  engine.receiver.on('/slow', held.behaviour)
  await engine.publish({}, { action: 'APPROVED' })
  await engine.receiver.count('/slow', 1)
  const { letGo } = await takeAway(engine, webhook.id)
  held.open()
  // A later delivery of another lane is settled in the same queue: when it is done, the first has had its
  // turn.
  const other = await engine.makeWebhook('/other')
  await engine.publish({ entity: 'transaction:other' })
  await eventually('the other', async () => (await engine.deliveries(other))[0]?.state === 'delivered')
  const [stale] = await engine.deliveries(webhook)
  assert.deepEqual([stale!.state, stale!.attempts], ['waiting', 0])
  assert.deepEqual(await engine.attempts(webhook), [])
  await letGo()
  await eventually('both', async () =>
    (await engine.deliveries(webhook)).every((delivery) => delivery.state === 'delivered'),
  )
  const bodies = engine.receiver.at('/slow').map((request) => JSON.parse(request.body))
  assert.deepEqual(
    bodies.filter(({ entity }) => entity === 'transaction:1').map(({ action }) => action),
    ['SUBMITTED', 'SUBMITTED', 'APPROVED'],
  )
})

test('a node that knows nothing of the time in which another took its lane sends no more than may be unsettled, and then nothing', async () => {
  const webhook = await engine.makeWebhook('/a')
  const { receiver } = engine
  const held = gate()
  receiver.on('/a', held.behaviour)
  await engine.publish(...entities(300))
  await receiver.count('/a', 10)
  const { letGo } = await takeAway(engine, webhook.id)
  await engine.db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    // Until it can be told, it goes on with what it remembers.
    await sql.script('LOCK TABLE cursors')
    held.open()
    await receiver.count('/a', 100)
  })
  const other = await engine.makeWebhook('/other')
  await engine.publish({ entity: 'transaction:other' })
  await eventually('the other', async () => (await engine.deliveries(other))[0]?.state === 'delivered')
  assert.equal(receiver.at('/a').length, 100)
  assert.deepEqual(await engine.attempts(webhook), [])
  await letGo()
})

test('a worker that lost a lane does not let it go for its new holder', async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  const node = await api.openNode({ ROLES: 'worker' })
  const webhook = await api.makeWebhook('/slow')
  const held = gate()
  api.receiver.on('/slow', held.behaviour)
  await api.publish({})
  await api.receiver.count('/slow', 1)
  const { number, letGo } = await takeAway(api, webhook.id)
  held.open()
  await node.close()
  assert.equal((await api.cursor(webhook)).holder, number)
  assert.deepEqual(await api.attempts(webhook), [])
  await letGo()
})

test('a worker that stops finishes and settles what is under way, sends nothing more, and lets its lanes go', async (t) => {
  const api = await openEngine({ ROLES: 'api' })
  t.after(() => api.close())
  // By itself: a node that closes has its worker go on until its servers have closed.
  const { context } = api.house.gateway
  const rounds = openRounds(context)
  const stopWorker = openDelivery(
    context,
    openAnnouncer(context.db, context.clock),
    rounds,
    nodeOptions.lingerMs,
  )
  const webhook = await api.makeWebhook('/slow')
  const held = gate()
  api.receiver.on('/slow', held.behaviour)
  await api.publish(...entities(40))
  await api.receiver.count('/slow', 10)
  const stopped = stopWorker()
  held.open()
  await stopped
  await rounds.close()
  const states = (await api.deliveries(webhook)).map(({ state, attempts }) => `${state} ${attempts}`)
  assert.equal(states.filter((state) => state === 'delivered 1').length, 10)
  assert.equal(states.filter((state) => state === 'waiting 0').length, 30)
  const { holder, wake_at } = await api.cursor(webhook)
  assert.deepEqual([holder, wake_at], [null, Number.NEGATIVE_INFINITY], 'the next worker may begin at once')
  assert.equal(api.receiver.at('/slow').length, 10)
  await api.openNode({ ROLES: 'worker' })
  await api.receiver.count('/slow', 40)
  await api.idle()
  assert.equal(api.receiver.at('/slow').length, 40)
})

test('a notification wakes the worker: deliveries do not wait for its look each second', async () => {
  await engine.makeWebhook('/a')
  await eventually('a listening worker', async () => (await listeners()).length > 0)
  const rounds = 20
  const start = performance.now()
  for (let round = 1; round <= rounds; round++) {
    await engine.publish({ entity: `transaction:${round}` })
    await engine.receiver.count('/a', round)
  }
  const elapsedMs = performance.now() - start
  // Each round begins right after a look; without notifications it would last until the next one.
  assert.ok(elapsedMs < (rounds * second) / 2, `${rounds} rounds took ${elapsedMs} ms`)
})

test('an event that a transaction of the core published is found by a short look: nobody is notified', async () => {
  await engine.makeWebhook('/a')
  await engine.db.transaction(async (sql) => {
    const body = `{"profileId":1,"clearingAccount":"1234","type":"ACH_PROFILE","action":"PENDING","branchId":${engine.branchId}}`
    await sql.script(
      `SELECT publish_event('live', ${engine.branchId}, 'ACH_PROFILE', 'PENDING', '1', '${body}')`,
    )
  })
  await engine.receiver.count('/a', 1)
})

test('a worker listens on one connection, and on a new one when that is lost; meanwhile nothing is missed', async () => {
  await engine.makeWebhook('/a')
  await engine.publish({ entity: 'transaction:0' })
  await engine.receiver.count('/a', 1)
  await eventually('a listening worker', async () => (await listeners()).length > 0)
  const before = await listeners()
  assert.equal(before.length, 1)
  await engine.sql('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [
    before.map(({ pid }) => pid),
  ])
  await engine.publish({ entity: 'transaction:1' })
  await engine.receiver.count('/a', 2)
  const isNew = async () => {
    const now = await listeners()
    return now.length > 0 && now.every(({ pid }) => !before.some((old) => old.pid === pid))
  }
  await eventually('a new listener', isNew)
  assert.equal((await listeners()).length, 1)
})

test('a webhook that is resumed while its event is being numbered is not forgotten', async () => {
  const paused = await engine.makeWebhook('/paused')
  await engine.openNode()
  await engine.call('POST', `/v2/webhooks/${paused.id}/pause`)
  await engine.idle()
  let resuming: Promise<unknown> | undefined
  await engine.db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await sql.script(`SELECT FROM parts WHERE part = ${partOf(engine.branchId)} FOR NO KEY UPDATE`)
    await engine.publish({})
    resuming = engine.call('POST', `/v2/webhooks/${paused.id}/resume`)
    // Where the part lies on another server, it waits for it there.
    if (!isDistributed()) await resuming
    // It has nothing yet, and wants to rest: whoever may have the part first.
    await eventually('somebody who waits for the part', () => isWaiting(engine.db))
  })
  await resuming
  await engine.receiver.count('/paused', 1, 30_000)
})
