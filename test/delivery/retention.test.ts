import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { day, minute } from '../../src/clock.ts'
import { retireOnce } from '../../src/webhooks/retention.ts'
import type { Webhook } from '../../src/webhooks/webhook.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

const policy = { attemptDays: 30, eventDays: 90 }
const retire = () => retireOnce(engine.db, policy, engine.house.clock.now())

async function countRows(table: string): Promise<number> {
  return (await engine.sql<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n
}

test('attempts leave after 30 days, events with their deliveries after 90; not a minute earlier', async () => {
  await engine.publish(...entities(3))
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  engine.house.clock.advance(30 * day - minute)
  assert.deepEqual(await retire(), { attempts: 0, events: 0, keys: 0 })
  engine.house.clock.advance(2 * minute)
  assert.deepEqual(await retire(), { attempts: 3, events: 0, keys: 0 })
  assert.equal((await engine.deliveries(webhook)).length, 3)
  engine.house.clock.advance(60 * day - 2 * minute)
  assert.equal((await retire()).events, 0)
  engine.house.clock.advance(2 * minute)
  assert.equal((await retire()).events, 3)
  for (const table of ['events', 'deliveries', 'attempts', 'branch_log']) assert.equal(await countRows(table), 0, table)
})

test('what leaves, leaves in batches of a thousand', async () => {
  const old = new Date(engine.house.clock.now().getTime() - 91 * day)
  await engine.sql(
    `INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome, status) SELECT n, 1, $1, 1, 'accepted', 200 FROM generate_series(1, 2500) n`,
    [old],
  )
  const removed: number[] = []
  for (let turn = 0; turn < 4; turn++) removed.push((await retire()).attempts)
  assert.deepEqual(removed, [1_000, 1_000, 500, 0])
})

test('the sequence of a branch goes on where it was after its oldest events have left', async () => {
  await engine.publish(...entities(3))
  await engine.idle()
  engine.house.clock.advance(91 * day)
  await retire()
  await engine.publish({ entity: 'transaction:new' })
  await engine.receiver.count('/hook', 4)
  const page = (await engine.call('GET', '/v2/events')).json<{ events: { sequence: number }[]; oldest: number }>()
  assert.deepEqual(
    page.events.map((event) => event.sequence),
    [4],
  )
  assert.equal(page.oldest, 4)
})

test('what was blocked behind an event that leaves is free, and goes out', async () => {
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  await engine.publish({ body: '{"place":1}' })
  await engine.idle()
  engine.house.clock.advance(60 * day)
  await engine.publish({ body: '{"place":2}' })
  await engine.idle()
  engine.house.clock.advance(31 * day)
  assert.equal((await retire()).events, 1)
  assert.deepEqual(
    (await engine.deliveries(webhook)).map((delivery) => delivery.state),
    ['waiting'],
  )
  await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  await engine.receiver.count('/hook', 1)
  assert.equal(engine.receiver.received[0]!.body, '{"place":2}')
})
