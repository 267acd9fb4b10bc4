/** An event that comes while nothing waits is accepted, dispatched and in hand in one transaction; and when something does wait, it is not. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { statement } from '../../src/database/database.ts'
import { dayOf } from '../../src/webhooks/days.ts'
import { dispatchPart } from '../../src/webhooks/dispatch.ts'
import { EventColumns } from '../../src/webhooks/event.ts'
import { openEventBodies } from '../../src/webhooks/event-bodies.ts'
import { HeldLanes } from '../../src/webhooks/held-lanes.ts'
import type { Lane } from '../../src/webhooks/lane.ts'
import { readDue } from '../../src/webhooks/lane-reader.ts'
import { lockPart } from '../../src/webhooks/part.sql.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { openShortCut, type PassedRow } from '../../src/webhooks/short-cut.ts'
import { type Engine, entities, eventOf, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine()
  await engine.makeWebhook('/a')
  // The first of a branch's day goes the ordinary way: its numbers are opened with it.
  await engine.publish({ entity: 'transaction:first' })
  await engine.receiver.count('/a', 1)
  await engine.idle()
})
afterEach(() => engine.close())

/** How many entries the inbox has had. */
async function entriesSoFar(): Promise<number> {
  const [row] = await engine.sql<{ last: number }>(
    `SELECT last_value AS last FROM pg_sequences WHERE sequencename = 'inbox_id_seq'`,
  )
  return Number(row!.last)
}

const sequences = () => engine.sql<{ sequence: number }>('SELECT sequence FROM branch_log ORDER BY sequence')

test('alone, an event never stands in the inbox, and is numbered, sent and settled like any other', async () => {
  const before = await entriesSoFar()
  const [webhook] = await engine.sql<{ id: number }>('SELECT id FROM webhooks')
  for (let round = 1; round <= 5; round++) {
    await engine.publish({ entity: `transaction:${round}` })
    await engine.receiver.count('/a', round + 1)
    // Whoever writes down what came of it holds the part for a moment.
    await engine.idle()
  }
  assert.equal(await entriesSoFar(), before)
  assert.deepEqual(
    (await sequences()).map(({ sequence }) => sequence),
    [1, 2, 3, 4, 5, 6],
  )
  const states = await engine.sql<{ state: string; attempts: number }>(
    'SELECT state, attempts FROM deliveries WHERE webhook_id = $1',
    [webhook!.id],
  )
  assert.deepEqual(new Set(states.map(({ state, attempts }) => `${state} ${attempts}`)), new Set(['delivered 1']))
  assert.equal(engine.receiver.at('/a').length, 6)
})

test('while somebody is at the part, an event waits in the inbox and keeps its place', async () => {
  const before = await entriesSoFar()
  await engine.db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await sql.query(lockPart, [partOf(engine.branchId)])
    await engine.publish({ action: 'SUBMITTED' })
    await engine.publish({ action: 'APPROVED' })
  })
  await engine.publish({ action: 'COMPLETED' })
  await engine.receiver.count('/a', 4)
  assert.ok((await entriesSoFar()) >= before + 2)
  assert.deepEqual(actions().slice(1), ['SUBMITTED', 'APPROVED', 'COMPLETED'])
})

test('an event goes behind what a transaction of the core has left in the inbox', async () => {
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
  const [webhook] = await engine.sql<{ id: number }>('SELECT id FROM webhooks')
  await engine.call('POST', `/v2/webhooks/${webhook!.id}/pause`)
  await engine.publish(...entities(3))
  await engine.idle()
  assert.equal(engine.receiver.at('/a').length, 1)
  await engine.call('POST', `/v2/webhooks/${webhook!.id}/resume`)
  await engine.receiver.count('/a', 4)
})

test('a webhook that was paused a moment ago gets nothing, though this node still has its lane', async () => {
  const [webhook] = await engine.sql<{ id: number }>('SELECT id FROM webhooks')
  for (let round = 0; round < 5; round++) {
    await engine.publish({ entity: `transaction:before-${round}` })
    await engine.receiver.count('/a', 2 + round)
    await engine.call('POST', `/v2/webhooks/${webhook!.id}/pause`)
    await engine.publish({ entity: `transaction:after-${round}` })
    await engine.idle()
    assert.equal(engine.receiver.at('/a').length, 2 + round)
    await engine.sql('DELETE FROM queued_deliveries')
    await engine.call('POST', `/v2/webhooks/${webhook!.id}/resume`)
  }
})

test('a lane that another node holds is told: that node sends', async () => {
  const [webhook] = await engine.sql<{ id: number }>('SELECT id FROM webhooks')
  const held = await engine.db.transaction(async (sql) => {
    const [worker] = await sql.query<{ number: number }>(
      statement('', 'INSERT INTO workers (id, seen_at, lanes) VALUES (gen_random_uuid(), now(), 1) RETURNING number'),
    )
    await sql.query(
      statement(
        '',
        `UPDATE lanes SET claim_id = gen_random_uuid(), held_by = $2, attention_at = 'infinity' WHERE webhook_id = $1`,
      ),
      [webhook!.id, worker!.number],
    )
    return worker!.number
  })
  await engine.publish({ entity: 'transaction:theirs' })
  const news = () => engine.sql<{ has_news: boolean }>('SELECT has_news FROM lanes WHERE held_by = $1', [held])
  await eventually('it is told', async () => (await news())[0]!.has_news)
  assert.equal(engine.receiver.at('/a').length, 1)
})

test('with a key it takes the short cut too, and the same request again publishes nothing', async () => {
  const before = await entriesSoFar()
  const { publisher } = engine.house.gateway.context
  const draft = {
    environment: 'live' as const,
    branchId: engine.branchId,
    kind: 'TRANSACTION' as const,
    simulated: false,
  }
  const event = { ...draft, action: 'SUBMITTED', entity: 'transaction:keyed', body: '{"entity":"transaction:keyed"}' }
  const idempotency = { owner: 'service:1', key: 'once' }
  const now = engine.house.clock.now()
  const [first] = await publisher.publish([event], now, { idempotency })
  await engine.receiver.count('/a', 2)
  await engine.idle()
  const [again] = await publisher.publish([event], now, { idempotency })
  assert.equal(again!.uid, first!.uid)
  await engine.idle()
  assert.equal(engine.receiver.at('/a').length, 2)
  assert.equal(await entriesSoFar(), before)
})

test('a commit that nobody heard of leaves no lane behind', async () => {
  const [webhook] = await engine.sql<{ id: number }>('SELECT id FROM webhooks')
  // The statement commits; its answer finds nobody, because the connection was ended on the way back.
  await engine.sql(`CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
  await engine.sql(`CREATE CONSTRAINT TRIGGER cut_off AFTER INSERT ON queued_deliveries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION cut_off()`)
  await assert.rejects(engine.publish({ entity: 'transaction:lost' }))
  await engine.sql('DROP TRIGGER cut_off ON queued_deliveries')
  await engine.publish({ entity: 'transaction:after' })
  await engine.receiver.count('/a', 2)
  await eventually('a free lane', async () => {
    const [lane] = await engine.sql<{ claim_id: string | null }>('SELECT claim_id FROM lanes WHERE webhook_id = $1', [
      webhook!.id,
    ])
    return lane!.claim_id === null
  })
})

/** The rooms of a worker without one, so that what happens between two of its steps can be chosen. */
async function openByHand() {
  const { db, house } = engine
  const { clock } = house
  const { days } = house.gateway.context.dispatch
  await days.open(dayOf(clock.now()))
  const bodies = openEventBodies()
  const looks: boolean[] = []
  const number = () => 1_000
  const fail = (error: unknown) => assert.fail(String(error))
  const lanes = new HeldLanes({
    lingerMs: 200,
    db,
    clock,
    number,
    lastNumber: number,
    confirmed: () => {},
    complain: fail,
  })
  lanes.lease(performance.now() + minute)
  const shortCut = openShortCut({
    ...{
      clock,
      days,
      lanes,
      number,
      traceDispatch: undefined,
      isOpen: () => true,
      changes: () => 0,
      keep: bodies.keep,
    },
    ...{
      send: () => {},
      hurry: () => {},
      dispatched: () => {},
      look: (everywhere: boolean) => void looks.push(everywhere),
    },
  })
  const pass = async (entity: string) => {
    const passage = shortCut.passage(new EventColumns([eventOf(engine.branchId, { entity })], clock.now()))!
    const rows = (await db.together<PassedRow>(passage.steps)).at(-1)!
    return () => passage.arrived(rows)
  }
  return { lanes, looks, pass, read: () => readDue({ db, clock, bodies, lanes }, true) }
}

/** As if it had been sent and settled. */
async function finish(lane: Lane): Promise<string[]> {
  const sent = lane.buffer.splice(0)
  lane.inHand.clear()
  await engine.sql('DELETE FROM queued_deliveries WHERE id = ANY ($1)', [sent.map(({ id }) => id)])
  return sent.map(({ entity }) => entity)
}

test('what was read, sent and settled between the commit and its answer is not sent again', async () => {
  await engine.close()
  engine = await openEngine({ ROLES: 'api' })
  const webhook = await engine.makeWebhook('/a')
  await engine.publish({ entity: 'transaction:first' })
  await dispatchPart(engine.house.gateway.context.dispatch, partOf(engine.branchId))
  await engine.sql('DELETE FROM queued_deliveries')
  await engine.sql('UPDATE lanes SET attention_at = NULL')
  const { lanes, looks, pass, read } = await openByHand()
  const arrive = await pass('transaction:1')
  arrive()
  const lane = lanes.find(webhook.id)!
  assert.deepEqual(await finish(lane), ['transaction:1'])
  const arriveLate = await pass('transaction:2')
  lane.drained = false
  await read()
  assert.deepEqual(await finish(lane), ['transaction:2'])
  arriveLate()
  assert.deepEqual(lane.buffer, [])
  assert.deepEqual(looks, [false])
  await read()
  assert.deepEqual(lane.buffer, [])
})

function actions(): string[] {
  return engine.receiver.at('/a').map(({ body }) => JSON.parse(body).action)
}
