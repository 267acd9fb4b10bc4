/**
 * What comes by itself is numbered in the commit that publishes it, and sent from there; whatever else
 * happens, it keeps its place.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { hour } from '../../src/clock.ts'
import type { Sql } from '../../src/database/database.ts'
import { isDistributed, partOf } from '../../src/webhooks/events/part.ts'
import { findBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, entities, eventOf, openEngine } from '../support/engine.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/a')
  await engine.publish({ entity: 'transaction:first' })
  await engine.receiver.count('/a', 1)
  await engine.idle()
})
afterEach(() => engine.close())

const isUnnumbered = async () => (await engine.sql('SELECT FROM outbox')).length > 0
const lockPart = () => `SELECT FROM parts WHERE part = ${partOf(engine.branchId)} FOR NO KEY UPDATE`

function actions(): string[] {
  return engine.receiver.at('/a').map(({ body }) => JSON.parse(body).action)
}

test('alone, an event has its number when it is published, and is sent and settled like any other', async () => {
  for (let round = 1; round <= 5; round++) {
    await engine.publish({ entity: `transaction:${round}` })
    // Where its part lies on another server, it is carried there.
    if (!isDistributed()) assert.equal(await isUnnumbered(), false)
    await engine.receiver.count('/a', round + 1)
    // Whoever rests holds the part for a moment.
    await engine.idle()
  }
  const deliveries = await engine.deliveries(webhook)
  assert.deepEqual(
    deliveries.map(({ seq, state, attempts }) => [seq, state, attempts]),
    [1, 2, 3, 4, 5, 6].map((seq) => [seq, 'delivered', 1]),
  )
  assert.equal(engine.receiver.at('/a').length, 6)
})

test('while somebody is at the part, an event waits for its number and keeps its place', async () => {
  await engine.db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await sql.script(lockPart())
    await engine.publish({ action: 'SUBMITTED' })
    await engine.publish({ action: 'APPROVED' })
    assert.equal(await isUnnumbered(), true)
  })
  await engine.publish({ action: 'COMPLETED' })
  await engine.receiver.count('/a', 4)
  assert.deepEqual(actions().slice(1), ['SUBMITTED', 'APPROVED', 'COMPLETED'])
})

test('an event goes behind what a transaction of the core has published before it', async () => {
  for (let round = 1; round <= 10; round++) {
    const body = `{"profileId":${round},"clearingAccount":"1234","type":"ACH_PROFILE","action":"PENDING","branchId":${engine.branchId}}`
    await engine.db.script(
      `SELECT publish_event('live', ${engine.branchId}, 'ACH_PROFILE', 'PENDING', '${round}', '${body}')`,
    )
    await engine.publish({ kind: 'ACH_PROFILE', entity: `ach_profile:${round}`, action: 'APPROVED' })
  }
  await engine.receiver.count('/a', 21)
  const inOrder = engine.receiver
    .at('/a')
    .slice(1)
    .map(({ body }) => JSON.parse(body))
  for (let round = 1; round <= 10; round++) {
    const of = inOrder.filter((each) => each.profileId === round || each.entity === `ach_profile:${round}`)
    assert.deepEqual(
      of.map((each) => each.action),
      ['PENDING', 'APPROVED'],
    )
  }
})

/** As a transaction of the core does. */
function publishFromCore(sql: Sql, profileId: number, action: string): Promise<void> {
  const { branchId } = engine
  const body = JSON.stringify({ profileId, clearingAccount: '1234', type: 'ACH_PROFILE', action, branchId })
  return sql.script(
    `SELECT publish_event('live', ${branchId}, 'ACH_PROFILE', '${action}', '${profileId}', '${body}')`,
  )
}

test('a transaction that wrote early and publishes late goes behind what was published before it, though it began first', async () => {
  await engine.sql('CREATE TABLE orders (id int)')
  await engine.db.transaction(async (part) => {
    // Both wait for their numbers, so that one look gives them.
    await part.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await part.script(lockPart())
    await engine.db.transaction(async (early) => {
      await early.script('SET LOCAL idle_in_transaction_session_timeout = 0')
      await early.script('INSERT INTO orders VALUES (1)')
      for (let profile = 1; profile <= 5; profile++)
        await engine.db.transaction((sql) => publishFromCore(sql, profile, 'PENDING'))
      for (let profile = 1; profile <= 5; profile++) await publishFromCore(early, profile, 'APPROVED')
    })
  })
  await engine.receiver.count('/a', 11)
  const log = await engine.sql<{ entity: string; action: string }>(
    'SELECT entity, action FROM log ORDER BY seq',
  )
  const arrived = engine.receiver.at('/a').map(({ body }) => JSON.parse(body))
  for (let profile = 1; profile <= 5; profile++) {
    const numbered = log.filter(({ entity }) => entity === `ach_profile:${profile}`)
    const received = arrived.filter(({ profileId }) => profileId === profile)
    for (const events of [numbered, received])
      assert.deepEqual(
        events.map(({ action }) => action),
        ['PENDING', 'APPROVED'],
      )
  }
})

test('a commit that takes longer than anybody looks back is numbered when it is there, and wakes the lane that has gone on', async () => {
  await engine.db.transaction(async (slow) => {
    await slow.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await publishFromCore(slow, 1, 'PENDING')
    await engine.publish(...entities(20))
    await engine.receiver.count('/a', 21)
    await engine.idle()
    engine.house.clock.advance(hour)
  })
  await engine.receiver.count('/a', 22)
  await engine.idle()
  const [last] = (await engine.deliveries(webhook)).slice(-1)
  assert.deepEqual([last!.seq, last!.entity, last!.state], [22, 'ach_profile:1', 'delivered'])
  assert.deepEqual(await findBroken(engine.db, engine.house.clock.now(), wholeScope()), [])
})

test('of an entity the second waits until the first is settled', async () => {
  const { receiver } = engine
  const underWay: number[] = []
  let now = 0
  receiver.on('/a', (_request, response) => {
    underWay.push(++now)
    setImmediate(() => {
      now--
      response.end()
    })
  })
  await Promise.all(['SUBMITTED', 'APPROVED', 'COMPLETED'].map((action) => engine.publish({ action })))
  await receiver.count('/a', 4)
  assert.deepEqual(underWay, [1, 1, 1])
})

test('a webhook that is paused is not sent to, and gets all of it when it is resumed', async () => {
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  await engine.publish(...entities(3))
  await engine.idle()
  assert.equal(engine.receiver.at('/a').length, 1)
  await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  await engine.receiver.count('/a', 4)
})

test('a webhook that was paused a moment ago gets nothing, though this node still has its lane', async () => {
  const { act, clock } = engine.house
  let sent = 1
  for (let round = 0; round < 5; round++) {
    await engine.publish({ entity: `transaction:before-${round}` })
    await engine.receiver.count('/a', ++sent)
    await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
    await engine.publish({ entity: `transaction:after-${round}` })
    await engine.idle()
    assert.equal(engine.receiver.at('/a').length, sent)
    const skip = [partOf(engine.branchId), webhook.id, 'a test', act().by.name, clock.now()]
    await engine.sql('SELECT skip_to_now($1, $2, $3, $4, $5)', skip)
    await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  }
})

test('with a key, the same request again publishes nothing', async () => {
  const { publisher } = engine.house.gateway.context
  const event = eventOf(engine.branchId, { entity: 'transaction:keyed' })
  const idempotency = { owner: 'service:1', key: 'once' }
  const now = engine.house.clock.now()
  const [first] = await publisher.publish([event], now, { idempotency })
  await engine.receiver.count('/a', 2)
  await engine.idle()
  const [again] = await publisher.publish([event], now, { idempotency })
  assert.equal(again!.uid, first!.uid)
  await engine.idle()
  assert.equal(engine.receiver.at('/a').length, 2)
})

test('a commit that nobody heard of leaves nothing behind: it has happened or has not, and what comes next is sent', async () => {
  // The connection is ended when the transaction is about to end.
  await engine.sql(`CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
  await engine.sql(`CREATE CONSTRAINT TRIGGER cut_off AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION cut_off()`)
  await assert.rejects(engine.publish({ entity: 'transaction:lost' }))
  await engine.sql('DROP TRIGGER cut_off ON outbox')
  await engine.publish({ entity: 'transaction:after' })
  await engine.receiver.until(
    () => engine.receiver.at('/a').some(({ body }) => body.includes('transaction:after')),
    'the next one',
  )
  await engine.idle()
  const deliveries = await engine.deliveries(webhook)
  assert.ok(deliveries.every(({ state, attempts }) => state === 'delivered' && attempts === 1))
  assert.equal(engine.receiver.at('/a').length, deliveries.length)
  assert.deepEqual(await findBroken(engine.db, engine.house.clock.now(), wholeScope()), [])
})
