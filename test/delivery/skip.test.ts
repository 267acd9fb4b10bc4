/** What a partner does not want any more is taken out of the way; what waits behind it goes on, and nothing else is touched. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { type Sql, statement } from '../../src/database/database.ts'
import { skipDelivery, skipOnce, startSkip } from '../../src/webhooks/skip.ts'
import type { Webhook } from '../../src/webhooks/webhook.ts'
import { type DeliveryRow, type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { operator } from '../support/gateway.ts'
import { accept, fail, gate } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

interface SkipAnswer {
  readonly id: number
  readonly state: string
  readonly skipped: number
}

const actionsReceived = () => engine.receiver.at('/hook').map((request) => JSON.parse(request.body).action as string)
const stored = () => engine.deliveries(webhook) as Promise<(DeliveryRow & { reason: string; canceled_by: string })[]>
const skip = (id: number, body: object = {}) => engine.call('POST', `/v2/deliveries/${id}/skip`, body)

/** The first of an entity is refused, two more wait behind it. */
async function poison(): Promise<readonly number[]> {
  engine.receiver.on('/hook', fail)
  await engine.publish({ action: 'FIRST' }, { action: 'SECOND' }, { action: 'THIRD' })
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  return (await stored()).map((delivery) => delivery.id)
}

test('when the head of an entity is skipped the next one goes on, and the log says who skipped it and why', async () => {
  const [first] = await poison()
  engine.receiver.on('/hook', accept)
  const skipped = await skip(first!, { reason: 'we cannot read it' })
  assert.equal(skipped.status, 200, skipped.text)
  const by = `client:${engine.client.id}`
  const { state, reason, canceledBy } = skipped.json<{ state: string; reason: string; canceledBy: string }>()
  assert.deepEqual([state, reason, canceledBy], ['canceled', 'we cannot read it', by])
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  assert.deepEqual(actionsReceived(), ['FIRST', 'SECOND', 'THIRD'])
  assert.deepEqual(
    (await stored()).map((each) => [each.state, each.reason, each.canceled_by]),
    [
      ['canceled', 'we cannot read it', by],
      ['delivered', null, null],
      ['delivered', null, null],
    ],
  )
  const entries = await findEntries(engine.db, { action: 'webhook.delivery_skipped', limit: 10 })
  assert.deepEqual(
    entries.map(({ actor, subject, details }) => ({ actor, subject, details })),
    [{ actor: by, subject: `webhook:${webhook.id}`, details: { deliveryId: first, reason: 'we cannot read it' } }],
  )
})

test('one that waits behind another is skipped without letting the next overtake', async () => {
  const [first, second, third] = await poison()
  assert.equal((await skip(second!)).json<{ reason: string }>().reason, 'skipped')
  const [left] = await engine.sql<{ after_id: number }>('SELECT after_id FROM queued_deliveries WHERE id = $1', [third])
  assert.equal(left!.after_id, first)
  engine.receiver.on('/hook', accept)
  await engine.idle()
  await engine.advanceToNextLook()
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  assert.deepEqual(actionsReceived(), ['FIRST', 'FIRST', 'THIRD'])
})

test('one that has ended stays as it ended, and skipping twice records once', async () => {
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  const [delivered] = await stored()
  const answered = await skip(delivered!.id)
  assert.deepEqual([answered.status, answered.json<{ state: string }>().state], [200, 'delivered'])
  const [first] = (await poison()).slice(1)
  await Promise.all([skip(first!), skip(first!)])
  assert.equal((await findEntries(engine.db, { action: 'webhook.delivery_skipped', limit: 10 })).length, 1)
})

test('an attempt that was under way when its delivery was skipped is kept, and the lane is not lost', async () => {
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  await engine.publish({ action: 'FIRST' })
  await engine.receiver.count('/hook', 1)
  const [delivery] = await stored()
  await skip(delivery!.id)
  const before = await engine.lane(webhook)
  engine.receiver.on('/hook', accept)
  await engine.publish({ action: 'SECOND' })
  held.open()
  await eventually('its attempt', async () => (await engine.attempts(webhook)).length === 2)
  await engine.idle()
  const [, second] = await stored()
  assert.equal(second!.state, 'delivered')
  assert.deepEqual(
    (await engine.attempts(webhook)).map(({ outcome }) => outcome),
    ['accepted', 'accepted'],
  )
  assert.equal((await stored())[0]!.state, 'canceled', 'what has ended stays so')
  assert.ok(before.claim_id !== null)
})

test('all that wait are skipped in bites, what is published meanwhile is delivered, and others are not touched', async () => {
  const other = await engine.makeWebhook('/other')
  engine.receiver.on('/hook', fail)
  engine.receiver.on('/other', fail)
  await engine.publish(...entities(30), ...entities(30))
  await eventually('60 deliveries each', async () => (await engine.deliveries(other)).length === 60)
  // Refused, and waiting for the next probe: nothing more is accepted before it is skipped.
  await engine.idle()
  const started = await engine.call('POST', `/v2/webhooks/${webhook.id}/skips`, { reason: 'a test that went wrong' })
  assert.equal(started.status, 202, started.text)
  engine.receiver.on('/hook', accept)
  const { id } = started.json<SkipAnswer>()
  await engine.publish({ entity: 'transaction:0', action: 'LATER' })
  let last: SkipAnswer | undefined
  await eventually('the end of it', async () => {
    last = (await engine.call('GET', `/v2/webhooks/${webhook.id}/skips/${id}`)).json<SkipAnswer>()
    return last.state === 'finished'
  })
  await eventually('the later one', async () => {
    await engine.idle()
    await engine.advanceToNextLook()
    return (await stored()).at(-1)!.state === 'delivered'
  })
  const states = Map.groupBy(await stored(), (each) => each.state)
  assert.equal(last!.skipped, states.get('canceled')!.length)
  assert.ok(states.get('canceled')!.every((each) => each.reason === 'a test that went wrong'))
  assert.equal((await engine.deliveries(other)).filter((each) => each.state === 'canceled').length, 0)
  const [finished] = await findEntries(engine.db, { action: 'webhook.skip_finished', limit: 10 })
  assert.deepEqual(finished!.details, {
    ...{ skipId: id, deliveries: last!.skipped, askedBy: `client:${engine.client.id}` },
  })
})

test('asked again while it runs, it goes on to what waits by then; with nothing waiting it is finished at once', async () => {
  const quiet = await openEngine({ ROLES: 'api' })
  try {
    const { db, house } = quiet
    const target = await quiet.makeWebhook('/hook')
    const start = () => startSkip(db, target, 'skipped', house.act())
    assert.deepEqual([(await start()).state, (await start()).skipped], ['finished', 0])
    const [day] = await quiet.sql<{ offset: number }>('SELECT delivery_offset AS "offset" FROM open_day(day_of($1))', [
      house.clock.now(),
    ])
    const idOf = (n: number) => day!.offset + n
    const insert = statement(
      '',
      `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at)
       SELECT $5::bigint + n, $1, n, 'transaction:1', 0, CASE WHEN n > 1 THEN $5 + n - 1 END,
         CASE WHEN n > 1 THEN 'infinity' ELSE $2::timestamptz END, $2
       FROM generate_series($3::int, $4::int) n`,
    )
    const put = (sql: Sql, from: number, count: number) =>
      sql.query(insert, [target.id, house.clock.now(), from, from + count - 1, day!.offset])
    // In one transaction, so that the node takes no bite in between.
    const [first, again] = await db.transaction(async (sql) => {
      const startWithin = () =>
        startSkip({ ...db, ...sql, transaction: (work) => work(sql) }, target, 'skipped', house.act())
      await put(sql, 1, 1_500)
      const started = await startWithin()
      await put(sql, 1_501, 10)
      const startedAgain = await startWithin()
      await put(sql, 1_511, 2)
      return [started, startedAgain] as const
    })
    assert.equal(again.id, first.id)
    await eventually('the end', async () => {
      const [row] = await quiet.sql<{ state: string }>('SELECT state FROM skips WHERE id = $1', [first.id])
      return row!.state === 'finished'
    })
    const left = await quiet.sql<{ id: number; after_id: number | null }>(
      'SELECT id, after_id FROM queued_deliveries ORDER BY id',
    )
    assert.deepEqual(left, [
      { id: idOf(1_511), after_id: null },
      { id: idOf(1_512), after_id: idOf(1_511) },
    ])
    assert.equal(await skipOnce(db, house.clock), 0)
  } finally {
    await quiet.close()
  }
})

test("of the brokerage's people a partner learns only that it was one of them", async () => {
  const [first] = await poison()
  const act = engine.house.act()
  assert.ok(await skipDelivery(engine.db, engine.branchId, { id: first!, webhookId: webhook.id }, 'x', act))
  assert.equal((await stored())[0]!.canceled_by, operator.name)
  const shown = await engine.call('GET', `/v2/deliveries/${first}`)
  assert.equal(shown.json<{ canceledBy: string }>().canceledBy, 'brokerage')
  assert.ok(!shown.text.includes(operator.name))
})

test('nobody skips what belongs to another branch', async () => {
  const [first] = await poison()
  const partner = await engine.house.makePartner()
  const target = await engine.makeWebhook('/theirs', { branchId: partner.branchId })
  assert.equal(
    await skipDelivery(engine.db, partner.branchId, { id: first!, webhookId: target.id }, 'x', engine.house.act()),
    false,
  )
  assert.equal((await engine.call('POST', `/v2/webhooks/${target.id}/skips`, {})).status, 404)
  assert.equal((await stored())[0]!.state, 'waiting')
})
