/**
 * What a partner does not want any more is taken out of the way; what waits behind it goes on, and nothing
 * else is touched.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { getDelivery } from '../../src/webhooks/deliveries/delivery.ts'
import { skipDelivery } from '../../src/webhooks/deliveries/skip.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { send } from '../support/browser.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { basic, operator } from '../support/gateway.ts'
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

const actionsReceived = () =>
  engine.receiver.at('/hook').map((request) => JSON.parse(request.body).action as string)
const stored = async () => {
  const rows = await engine.deliveries(webhook)
  return Promise.all(rows.map(({ id }) => getDelivery(engine.db, webhook, id)))
}
const skip = (id: string, body: object = {}) => engine.call('POST', `/v2/deliveries/${id}/skip`, body)

/** The first of an entity is refused, two more wait behind it. */
async function poison(): Promise<readonly string[]> {
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
    (await stored()).map((each) => [each.state, each.reason, each.canceledBy]),
    [
      ['canceled', 'we cannot read it', by],
      ['delivered', null, null],
      ['delivered', null, null],
    ],
  )
  const entries = await findEntries(engine.db, { action: 'webhook.delivery_skipped', limit: 10 })
  assert.deepEqual(
    entries.map(({ actor, subject, details }) => ({ actor, subject, details })),
    [
      {
        actor: by,
        subject: `webhook:${webhook.id}`,
        details: { deliveryId: first, reason: 'we cannot read it' },
      },
    ],
  )
})

test('one that waits behind another is skipped without letting the next overtake', async () => {
  const [first, second, third] = await poison()
  assert.equal((await skip(second!)).json<{ reason: string }>().reason, 'skipped')
  assert.deepEqual(
    (await stored()).map(({ id, state }) => [id, state]),
    [
      [first, 'waiting'],
      [second, 'canceled'],
      [third, 'blocked'],
    ],
  )
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

test('an attempt that was under way when its delivery was skipped changes nothing any more, and the lane goes on', async () => {
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  await engine.publish({ action: 'FIRST' })
  await engine.receiver.count('/hook', 1)
  const [delivery] = await stored()
  await skip(delivery!.id)
  engine.receiver.on('/hook', accept)
  await engine.publish({ action: 'SECOND' })
  held.open()
  await engine.receiver.count('/hook', 2)
  await engine.idle()
  assert.deepEqual(
    (await stored()).map(({ state, attempts }) => [state, attempts]),
    [
      ['canceled', 0],
      ['delivered', 1],
    ],
    'what has ended stays so',
  )
})

test('one that was asked for again is skipped as any other, and the one that it repeats stays as it is', async () => {
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  const [delivered] = await stored()
  engine.receiver.on('/hook', fail)
  const again = (await engine.call('POST', `/v2/deliveries/${delivered!.id}/redeliver`)).json<{
    id: string
  }>()
  await engine.receiver.count('/hook', 2)
  await engine.idle()
  const skipped = await skip(again.id, { reason: 'not needed' })
  assert.deepEqual(
    [skipped.json<{ state: string }>().state, skipped.json<{ reason: string }>().reason],
    ['canceled', 'not needed'],
  )
  assert.deepEqual(
    (await stored()).map(({ id, state, attempts }) => [id, state, attempts]),
    [
      [delivered!.id, 'delivered', 1],
      [again.id, 'canceled', 1],
    ],
  )
  await engine.idle()
  assert.deepEqual(await engine.sql('SELECT FROM agains'), [])
})

test('all that wait are skipped at once, what is published later is delivered, and others are not touched', async () => {
  const other = await engine.makeWebhook('/other')
  engine.receiver.on('/hook', fail)
  engine.receiver.on('/other', fail)
  await engine.publish(...entities(30), ...entities(30))
  await eventually('60 deliveries each', async () => (await engine.deliveries(other)).length === 60)
  // Refused, and waiting for the next probe: nothing more is sent before it is skipped.
  await eventually('an open breaker', async () => {
    const { failures } = await engine.cursor(webhook)
    return failures >= 10 && failures === engine.receiver.at('/hook').length
  })
  const started = await engine.call('POST', `/v2/webhooks/${webhook.id}/skips`, {
    reason: 'a test that went wrong',
  })
  assert.equal(started.status, 202, started.text)
  engine.receiver.on('/hook', accept)
  const { id, state, skipped } = started.json<SkipAnswer>()
  assert.deepEqual([state, skipped], ['finished', 60])
  assert.deepEqual(
    (await engine.call('GET', `/v2/webhooks/${webhook.id}/skips/${id}`)).json(),
    started.json(),
  )
  await engine.publish({ entity: 'transaction:0', action: 'LATER' })
  // The receiver is asked again when the breaker probes.
  engine.house.clock.advance(minute)
  await engine.wake()
  await eventually('the later one', async () => (await stored()).at(-1)!.state === 'delivered')
  const states = Map.groupBy(await stored(), (each) => each.state)
  assert.equal(states.get('canceled')!.length, 60)
  assert.ok(states.get('canceled')!.every((each) => each.reason === 'a test that went wrong'))
  assert.equal((await engine.deliveries(other)).filter((each) => each.state === 'canceled').length, 0)
  const [told] = await findEntries(engine.db, { action: 'webhook.skipped', limit: 10 })
  assert.equal(told!.actor, `client:${engine.client.id}`)
  assert.deepEqual(told!.details, { skipId: id, deliveries: 60, reason: 'a test that went wrong' })
})

test('with nothing waiting nothing is skipped, and what was counted first stays', async () => {
  const start = async () =>
    (await engine.call('POST', `/v2/webhooks/${webhook.id}/skips`, {})).json<SkipAnswer>()
  await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)
  await engine.publish(...entities(3))
  await engine.idle()
  const first = await start()
  assert.equal(first.skipped, 3)
  assert.deepEqual(await start(), first)
})

test("of the brokerage's people a partner learns only that it was one of them", async () => {
  const [first] = await poison()
  const act = engine.house.act()
  assert.ok(
    await skipDelivery(engine.db, engine.branchId, await getDelivery(engine.db, webhook, first!), 'x', act),
  )
  assert.equal((await stored())[0]!.canceledBy, operator.name)
  const shown = await engine.call('GET', `/v2/deliveries/${first}`)
  assert.equal(shown.json<{ canceledBy: string }>().canceledBy, 'brokerage')
  assert.ok(!shown.text.includes(operator.name))
})

test('nobody skips what belongs to another branch', async () => {
  const [first] = await poison()
  const partner = await engine.house.makePartner()
  const target = await engine.makeWebhook('/theirs', { branchId: partner.branchId })
  const stranger = await engine.house.makeClient({ partner })
  const answered = await send(`${engine.house.baseUrl}/v2/deliveries/${first}/skip`, {
    ...{ method: 'POST', headers: { ...basic(stranger), 'content-type': 'application/json' }, body: '{}' },
  })
  assert.equal(answered.status, 404)
  assert.equal((await engine.call('POST', `/v2/webhooks/${target.id}/skips`, {})).status, 404)
  assert.equal((await stored())[0]!.state, 'waiting')
})
