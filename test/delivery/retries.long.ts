/**
 * When a delivery that failed is tried again, and when it no longer is. Time is the test's; the worker looks
 * each second.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { day, hour, minute, second } from '../../src/clock.ts'
import { retryWaitsMs } from '../../src/webhooks/outbound/retry-schedule.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { untilDisabled } from '../support/disabled.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { accept, answer, fail, gate } from '../support/receiver.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine()
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

const requests = () => engine.receiver.at('/hook').length

/** Moves the clock to the moment at which the lane wants attention, and a little beyond. */
async function advanceToNextLook(): Promise<number> {
  await engine.idle()
  assert.ok(await wakesAt(), 'the lane waits for something')
  return engine.advanceToNextLook()
}

/** When the lane wants attention, if ever. */
async function wakesAt(): Promise<Date | undefined> {
  const { holder, wake_at, hold_until, is_open } = await engine.cursor(webhook)
  const at = holder === null ? wake_at : hold_until
  return is_open && at instanceof Date ? at : undefined
}

/**
 * Moves the clock to the moment from which the lane may send again. It has something to send: its worker
 * keeps it until then.
 */
async function advanceToHold(): Promise<number> {
  const { clock } = engine.house
  const until = await eventually('a lane that is held back', async () => {
    const { hold_until } = await engine.cursor(webhook)
    return hold_until instanceof Date && hold_until > clock.now() ? hold_until : undefined
  })
  const ms = until.getTime() - clock.now().getTime()
  clock.advance(ms)
  await engine.wake()
  return ms
}

/** Everything that was sent is written down. */
async function written(): Promise<void> {
  await eventually(
    'every request as an attempt',
    async () => (await engine.attempts(webhook)).length === requests(),
  )
}

async function someoneIsAtIt(): Promise<void> {
  await eventually('a worker that has the lane', async () => (await engine.cursor(webhook)).holder !== null)
}

async function settleAttempts(count: number): Promise<void> {
  await eventually(`${count} recorded attempts`, async () => (await engine.attempts(webhook)).length >= count)
  await engine.idle()
}

function auditOf(action: string) {
  return engine.sql<{ actor: string; details: Record<string, unknown> }>(
    'SELECT actor, details FROM audit_entries WHERE action = $1 AND subject = $2',
    [action, `webhook:${webhook.id}`],
  )
}

async function stateOfWebhook(): Promise<string> {
  return (await engine.sql<{ state: string }>('SELECT state FROM webhooks WHERE id = $1', [webhook.id]))[0]!
    .state
}

test('a delivery that always fails is tried eleven times on schedule, is then exhausted, and can still be sent again', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({})
  await settleAttempts(1)
  for (const [index, wait] of retryWaitsMs.entries()) {
    const [delivery] = await engine.deliveries(webhook)
    assert.equal(delivery!.state, 'waiting')
    const ratio = (delivery!.due_at!.getTime() - engine.house.clock.now().getTime()) / wait
    assert.ok(ratio > 0.899 && ratio < 1.101, `wait ${index + 1} is ${ratio} of the schedule`)
    await advanceToNextLook()
    await settleAttempts(index + 2)
  }
  const [exhausted] = await engine.deliveries(webhook)
  assert.equal(exhausted!.state, 'exhausted')
  assert.equal(exhausted!.attempts, 11)
  assert.deepEqual(
    engine.receiver.at('/hook').map((request) => request.attempt),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  )
  assert.equal(new Set(engine.receiver.received.map((request) => request.id)).size, 1)
  engine.house.clock.advance(3 * day)
  engine.receiver.on('/hook', accept)
  assert.equal((await engine.call('POST', `/v2/deliveries/${exhausted!.id}/redeliver`)).status, 202)
  await eventually('the redelivery', async () => (await engine.deliveries(webhook))[1]?.state === 'delivered')
  const [final, again] = await engine.deliveries(webhook)
  assert.deepEqual([final!.state, again!.id], ['exhausted', `${exhausted!.id}-1`])
  assert.equal(requests(), 12)
})

test('nothing is tried before its time', async () => {
  engine.receiver.on('/hook', fail)
  const other = await engine.makeWebhook('/other')
  await engine.publish({})
  await settleAttempts(1)
  engine.house.clock.advance(4 * second)
  // The other webhook's delivery shows that the worker has looked since.
  await engine.publish({ entity: 'transaction:2' })
  await engine.receiver.count('/other', 2)
  await engine.receiver.count('/hook', 2)
  assert.equal((await engine.deliveries(other)).length, 2)
  assert.deepEqual(
    engine.receiver.at('/hook').map((request) => request.attempt),
    [1, 1],
  )
})

for (const [name, value, expectedMs] of [
  ['of seconds', () => '90', 90 * second],
  [
    'that is a date',
    () => new Date(engine.house.clock.now().getTime() + 7 * minute).toUTCString(),
    7 * minute,
  ],
  ['of a year', () => '31536000', 24 * hour],
] as const) {
  test(`a Retry-After ${name} is kept, for 24 hours at most`, async () => {
    engine.receiver.on('/hook', (...all) => answer(503, { 'retry-after': value() })(...all))
    await engine.publish({})
    await settleAttempts(1)
    const [delivery] = await engine.deliveries(webhook)
    const waitMs = delivery!.due_at!.getTime() - engine.house.clock.now().getTime()
    assert.ok(Math.abs(waitMs - expectedMs) <= second, `${waitMs} ms`)
    await advanceToNextLook()
    await engine.receiver.count('/hook', 2)
  })
}

for (const status of [429, 503]) {
  test(`a Retry-After on ${status} holds the whole lane, whatever is published meanwhile`, async () => {
    engine.receiver.on('/hook', answer(status, { 'retry-after': '60' }))
    await engine.publish({ entity: 'transaction:refused' })
    await settleAttempts(1)
    await engine.makeWebhook('/other')
    await engine.publish(...entities(20))
    await engine.receiver.count('/other', 20)
    await someoneIsAtIt()
    assert.equal(requests(), 1, 'nothing is sent before its time')
    engine.receiver.on('/hook', accept)
    const waitMs = await advanceToHold()
    assert.ok(waitMs > 59 * second && waitMs <= minute, `${waitMs} ms`)
    await engine.receiver.count('/hook', 22)
  })
}

test('a Retry-After on another status holds its own delivery alone', async () => {
  engine.receiver.on('/hook', answer(500, { 'retry-after': '60' }))
  await engine.publish({ entity: 'transaction:refused' })
  await settleAttempts(1)
  engine.receiver.on('/hook', accept)
  await engine.publish(...entities(3))
  await engine.receiver.count('/hook', 4)
})

test('resuming a webhook lets go what its receiver asked to wait for', async () => {
  engine.receiver.on('/hook', answer(429, { 'retry-after': '60' }))
  await engine.publish({ entity: 'transaction:refused' })
  await settleAttempts(1)
  engine.receiver.on('/hook', accept)
  for (const act of ['pause', 'resume']) await engine.call('POST', `/v2/webhooks/${webhook.id}/${act}`)
  await engine.publish({ entity: 'transaction:next' })
  await engine.receiver.count('/hook', 2)
})

test('the breaker opens after ten failures in a row, then probes with one attempt at a time, and closes on a success', async () => {
  const failing = gate(fail)
  engine.receiver.on('/hook', failing.behaviour)
  await engine.publish(...entities(40))
  await engine.receiver.count('/hook', 10)
  failing.open()
  await eventually('an open breaker', async () => (await engine.cursor(webhook)).failures >= 10)
  await written()
  const burst = requests()
  assert.ok(burst < 20, `${burst} requests although every one failed`)
  for (let probe = 1; probe <= 3; probe++) {
    const waitMs = await advanceToHold()
    assert.ok(waitMs >= 4 * second && waitMs <= minute, `a probe after ${waitMs} ms`)
    await engine.receiver.count('/hook', burst + probe)
    await written()
    assert.equal(requests(), burst + probe)
  }
  engine.receiver.on('/hook', accept)
  await advanceToHold()
  await eventually('the forty, those due later too', async () => {
    engine.house.clock.advance(10)
    const states = (await engine.deliveries(webhook)).map((delivery) => delivery.state)
    if ((await engine.cursor(webhook)).holder === null) engine.house.clock.advance(second)
    return states.every((state) => state === 'delivered')
  })
  await engine.idle()
  assert.equal((await engine.cursor(webhook)).failures, 0)
})

test('while the breaker is open, what is published waits for the next probe like everything else', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish(...entities(10))
  await eventually('an open breaker', async () => (await engine.cursor(webhook)).failures >= 10)
  await engine.idle()
  const probeAt = (await wakesAt())!
  assert.ok(probeAt > engine.house.clock.now())
  const before = requests()
  await engine.publish(...entities(5, 'application'))
  await eventually('their deliveries', async () => (await engine.deliveries(webhook)).length === 15)
  await someoneIsAtIt()
  assert.equal(requests(), before)
  assert.deepEqual((await engine.cursor(webhook)).hold_until, probeAt)
})

test('ten attempts of one webhook run at once, not more', async () => {
  const held = gate()
  engine.receiver.on('/hook', held.behaviour)
  await engine.publish(...entities(60))
  await engine.receiver.count('/hook', 10)
  held.open()
  await engine.receiver.count('/hook', 60)
  assert.equal(engine.receiver.mostAtOnce('/hook'), 10)
})

test('410 disables the webhook, once; what gathers goes out on resume', async () => {
  const held = gate(answer(410))
  engine.receiver.on('/hook', held.behaviour)
  await engine.publish(...entities(4))
  await engine.receiver.count('/hook', 4)
  held.open()
  await untilDisabled(engine.db, webhook.id)
  await engine.idle()
  await engine.publish({ entity: 'transaction:later' })
  await engine.idle()
  assert.equal(await wakesAt(), undefined)
  assert.equal(requests(), 4)
  const entries = await auditOf('webhook.disabled')
  assert.deepEqual(
    entries.map((entry) => entry.actor),
    ['gateway'],
    'one act, one audit entry',
  )
  assert.match(String(entries[0]!.details.reason), /410/)
  engine.receiver.on('/hook', accept)
  engine.house.clock.advance(6 * second)
  assert.equal((await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)).status, 200)
  await eventually('all five', async () =>
    (await engine.deliveries(webhook)).every((delivery) => delivery.state === 'delivered'),
  )
})

test('five days without a success among a hundred attempts disable the webhook, with an audit entry', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({})
  await settleAttempts(1)
  const start = engine.house.clock.now()
  await engine.sql(
    'UPDATE cursors SET failures = 98, failing_since = $2, tried_in = term WHERE webhook_id = $1',
    [webhook.id, start],
  )
  engine.house.clock.advance(5 * day + minute)
  await settleAttempts(2)
  assert.equal(await stateOfWebhook(), 'active', 'ninety-nine are not a hundred')
  await advanceToNextLook()
  await untilDisabled(engine.db, webhook.id)
  const entries = await auditOf('webhook.disabled')
  assert.equal(entries.length, 1)
  assert.match(String(entries[0]!.details.reason), /five days/)
})

test('failures in a row are counted across holders of the lane', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({})
  for (let attempt = 1; attempt <= 4; attempt++) {
    await settleAttempts(attempt)
    await advanceToNextLook()
  }
  await settleAttempts(5)
  assert.equal((await engine.cursor(webhook)).failures, 5)
})

test('while a webhook is paused its deliveries gather; on resume they go out', async () => {
  assert.equal((await engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)).status, 200)
  await engine.publish(...entities(30))
  await eventually('thirty deliveries', async () => (await engine.deliveries(webhook)).length === 30)
  await engine.idle()
  assert.equal(requests(), 0)
  assert.equal(await wakesAt(), undefined)
  await engine.call('POST', `/v2/webhooks/${webhook.id}/resume`)
  await engine.receiver.count('/hook', 30)
})

for (const [what, act] of [
  ['paused', () => engine.call('POST', `/v2/webhooks/${webhook.id}/pause`)],
  ['deleted', () => engine.call('DELETE', `/v2/webhooks/${webhook.id}`)],
] as const) {
  test(`once a webhook is ${what}, nothing but what is under way reaches it`, async () => {
    const held = gate()
    engine.receiver.on('/hook', held.behaviour)
    await engine.publish(...entities(40))
    await engine.receiver.count('/hook', 10)
    await engine.makeWebhook('/other')
    const { changes } = engine.house.gateway.context
    const told = new Promise<void>((heard) =>
      changes.subscribe((tag) => void (tag === `webhook:${webhook.id}` && heard())),
    )
    assert.ok((await act()).status < 300)
    await told
    held.open()
    await engine.receiver.until(() => engine.receiver.underWay('/hook') === 0, 'the end of those under way')
    // Another webhook's delivery shows that the worker has looked since.
    await engine.publish({ entity: 'transaction:later' })
    await engine.receiver.count('/other', 1)
    await engine.idle()
    assert.equal(requests(), 10)
    const states = (await engine.deliveries(webhook)).map((delivery) => delivery.state)
    const count = (state: string) => states.filter((each) => each === state).length
    assert.deepEqual([count('delivered'), count('waiting')], what === 'paused' ? [10, 31] : [0, 0])
  })
}

test('deleting a webhook ends what waits and what is blocked', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({}, { action: 'APPROVED' }, { action: 'COMPLETED' })
  await settleAttempts(1)
  assert.equal((await engine.call('DELETE', `/v2/webhooks/${webhook.id}`)).status, 204)
  assert.deepEqual(await engine.unfinished(), { waiting: 0, blocked: 0 })
  assert.deepEqual(await engine.sql('SELECT FROM exceptions'), [])
  engine.house.clock.advance(day)
  const next = await engine.makeWebhook('/next')
  await engine.publish({})
  await engine.receiver.count('/next', 1)
  assert.equal(requests(), 1)
  assert.equal((await engine.deliveries(next)).length, 1)
})

test('a delivered delivery can be sent again: a new delivery of the same event, with the same webhook-id', async () => {
  await engine.publish({})
  await settleAttempts(1)
  const [delivery] = await engine.deliveries(webhook)
  assert.equal(delivery!.state, 'delivered')
  await engine.call('POST', `/v2/deliveries/${delivery!.id}/redeliver`)
  await engine.receiver.count('/hook', 2)
  const [first, second] = engine.receiver.at('/hook')
  assert.equal(first!.id, second!.id)
  assert.equal(first!.body, second!.body)
  assert.deepEqual([first!.attempt, second!.attempt], [1, 1])
  const [before, again] = await engine.deliveries(webhook)
  assert.deepEqual([before!.state, before!.attempts, again!.id], ['delivered', 1, `${before!.id}-1`])
})

test('a blocked delivery keeps its place: it cannot be sent before the one it waits for', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({}, { action: 'APPROVED' })
  await settleAttempts(1)
  const [, blocked] = await engine.deliveries(webhook)
  assert.equal(blocked!.state, 'blocked')
  assert.equal((await engine.call('POST', `/v2/deliveries/${blocked!.id}/redeliver`)).status, 409)
})
