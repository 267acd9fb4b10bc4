import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { day, hour, minute } from '../../src/clock.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { openDaysAhead } from '../../src/webhooks/events/days.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { findBrokenPromises } from '../support/delivery-promises.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { accept, answer, fail } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

const policy = { attemptDays: 30, eventDays: 90 }
const retire = () => retireOnce(engine.db, policy, engine.house.clock.now())

/** A day that somebody looks at just now leaves at a later turn. */
async function retireUntil(table: string, left: number): Promise<void> {
  await eventually(`${left} of ${table} are left`, async () => {
    await retire()
    return (await countRows(table)) === left
  })
}

async function countRows(table: string): Promise<number> {
  return (await engine.sql<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]!.n
}

test('what was answered leaves after 30 days, events with what became of them after 90, by whole days; not a minute earlier', async () => {
  engine.receiver.on('/hook', answer(200, {}, 'thank you'))
  await engine.publish(...entities(3))
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  const counts = async () => Promise.all(['answers', 'outcomes', 'log'].map(countRows))
  const [answered] = await counts()
  // The clock stands at ten in the morning: a day has gone when its last moment has.
  const lastMoment = 14 * hour
  engine.house.clock.advance(30 * day + lastMoment - minute)
  await retire()
  assert.deepEqual(await counts(), [answered, 3, 3])
  engine.house.clock.advance(2 * minute)
  await retireUntil('answers', 0)
  assert.deepEqual(await counts(), [0, 3, 3])
  engine.house.clock.advance(60 * day - 2 * minute)
  await retire()
  assert.deepEqual(await counts(), [0, 3, 3])
  engine.house.clock.advance(2 * minute)
  await retireUntil('log', 0)
  assert.deepEqual(await counts(), [0, 0, 0])
})

test('a day that somebody is reading is left alone, keeps nobody waiting, and leaves at the next turn', async () => {
  await engine.publish(...entities(3))
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  engine.house.clock.advance(92 * day)
  await openDaysAhead(engine.db, engine.house.clock.now())
  await engine.db.transaction(async (report) => {
    await report.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await ask(report, 'SELECT count(*) FROM outcomes')
    await retire()
    assert.equal(await countRows('outcomes'), 3)
    await engine.publish({ entity: 'transaction:new' })
    await engine.receiver.count('/hook', 4)
  })
  await engine.idle()
  await retireUntil('outcomes', 1)
})

test('the sequence of a branch goes on where it was after its oldest events have left', async () => {
  await engine.publish(...entities(3))
  await engine.idle()
  engine.house.clock.advance(91 * day)
  await retireUntil('log', 0)
  await openDaysAhead(engine.db, engine.house.clock.now())
  await engine.publish({ entity: 'transaction:new' })
  await engine.receiver.count('/hook', 4)
  const page = (await engine.call('GET', '/v2/events')).json<{
    events: { sequence: number }[]
    oldest: number
  }>()
  assert.deepEqual(
    page.events.map((event) => event.sequence),
    [4],
  )
  assert.equal(page.oldest, 4)
})

test('what is unfinished when its day leaves has expired, and is told; what was blocked behind it goes out', async () => {
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  await engine.publish({ body: '{"place":1}' })
  await engine.idle()
  engine.house.clock.advance(60 * day)
  await openDaysAhead(engine.db, engine.house.clock.now())
  await engine.publish({ body: '{"place":2}' })
  await engine.idle()
  engine.house.clock.advance(31 * day)
  assert.equal((await retire()).expired, 1)
  assert.deepEqual(
    (await engine.deliveries(webhook)).map((delivery) => delivery.state),
    ['waiting'],
  )
  const entries = await findEntries(engine.db, { action: 'webhook.expired', limit: 10 })
  assert.deepEqual(
    entries.map((entry) => [entry.subject, entry.details]),
    [[`webhook:${webhook.id}`, { deliveries: 1 }]],
  )
  await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  await engine.receiver.count('/hook', 1)
  assert.equal(engine.receiver.received[0]!.body, '{"place":2}')
})

test('what is to be sent again expires with its event, and replays ask only the days that are kept', async () => {
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  engine.house.clock.advance(89 * day)
  const [first] = await engine.deliveries(webhook)
  const again = await engine.call('POST', `/v2/deliveries/${first!.id}/redeliver`)
  assert.equal(again.status, 202)
  assert.equal((await retire()).expired, 0)
  engine.house.clock.advance(2 * day)
  assert.equal((await retire()).expired, 1)
  assert.equal(await countRows('agains'), 0)
  await retireUntil('log', 0)
  assert.equal((await engine.call('GET', `/v2/deliveries/${first!.id}`)).status, 404)
  assert.equal((await engine.call('GET', `/v2/deliveries/${again.json<{ id: string }>().id}`)).status, 404)
  const list = await engine.call('GET', `/v2/webhooks/${webhook.id}/deliveries`)
  assert.deepEqual([list.status, list.json<{ deliveries: object[] }>().deliveries], [200, []])
  const replay = await engine.call('POST', `/v2/webhooks/${webhook.id}/replays/dry-run`, { from: 0 })
  assert.deepEqual([replay.status, replay.json()], [200, { total: 0 }], replay.text)
})

test('an entity that failed goes on with what came later, and nothing is left of what has gone', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({ action: 'FIRST' })
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  engine.house.clock.advance(60 * day)
  await openDaysAhead(engine.db, engine.house.clock.now())
  await engine.publish({ action: 'SECOND' })
  engine.house.clock.advance(31 * day)
  await openDaysAhead(engine.db, engine.house.clock.now())
  assert.equal((await retire()).expired, 1)
  await retireUntil('log', 1)
  assert.deepEqual(await findBrokenPromises(engine.db, engine.house.clock.now()), [])
  engine.receiver.on('/hook', accept)
  await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  await engine.receiver.count('/hook', 2)
  assert.match(engine.receiver.received[1]!.body, /SECOND/)
})

test('nodes that retire the same days at the same moment get along', async () => {
  await engine.publish(...entities(3))
  await engine.receiver.count('/hook', 3)
  await engine.idle()
  for (let ahead = 1; ahead <= 5; ahead++)
    await engine.sql('SELECT open_day(day_of($1))', [
      new Date(engine.house.clock.now().getTime() + ahead * day),
    ])
  engine.house.clock.advance(120 * day)
  await Promise.all([retire(), retire(), retire()])
  await retireUntil('log', 0)
})
