/**
 * “Probe now”: one attempt at once, whatever the schedule, the breaker or the receiver said, and no more than
 * one.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { Conflict } from '../../src/problem.ts'
import { findProbeOutcome, startProbe } from '../../src/webhooks/deliveries/probe.ts'
import { readBacklog } from '../../src/webhooks/health/backlog.ts'
import { setWebhookState, type Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
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

const probe = () => startProbe(engine.db, webhook, engine.house.act())
const count = () => engine.receiver.at('/hook').length

test('a delivery that waits for its next attempt is tried at once, once, and its outcome is found', async () => {
  engine.receiver.on('/hook', answer(404, {}, 'no such route'))
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  const asked = await probe()
  assert.equal(asked.attemptsBefore, 1)
  await engine.receiver.count('/hook', 2)
  await engine.idle()
  assert.equal(count(), 2, 'and not a third time')
  const outcome = await findProbeOutcome(engine.db, webhook, asked)
  assert.deepEqual([outcome!.number, outcome!.status, outcome!.response], [2, 404, 'no such route'])
  const [entry] = await findEntries(engine.db, { action: 'webhook.probed', limit: 10 })
  assert.deepEqual(entry!.details, { deliveryId: asked.deliveryId })
})

/**
 * Every attempt was refused and is written down: nothing is sent before the next probe, for which the clock
 * does not move.
 */
async function breakerOpens(): Promise<void> {
  await engine.receiver.count('/hook', 10)
  await eventually('an open breaker', async () => {
    const { failures, hold_until: holdUntil } = await engine.cursor(webhook)
    return failures === count() && holdUntil instanceof Date && holdUntil > engine.house.clock.now()
  })
}

test('with an open breaker one delivery is asked, and what was mended goes on by itself', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish(...entities(20))
  await breakerOpens()
  const before = count()
  const first = await probe()
  await engine.receiver.count('/hook', before + 1)
  await breakerOpens()
  assert.equal(count(), before + 1, 'nothing else loses an attempt')
  assert.equal((await findProbeOutcome(engine.db, webhook, first))!.status, 500)
  engine.receiver.on('/hook', accept)
  const second = await probe()
  // The clock stands still: what was never tried is due, and follows the probe.
  await engine.receiver.count('/hook', before + 2)
  await engine.idle()
  assert.equal((await findProbeOutcome(engine.db, webhook, second))!.outcome, 'accepted')
  assert.equal((await engine.cursor(webhook)).failures, 0)
})

test('a receiver that asked to be left alone is asked all the same', async () => {
  engine.receiver.on('/hook', answer(503, { 'retry-after': '3600' }))
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  await probe()
  await engine.receiver.count('/hook', 2)
})

test('where nothing is queued, or the webhook is switched off, there is nothing to probe with', async () => {
  await assert.rejects(probe, new Conflict('Nothing is queued for this webhook. Send a test event instead.'))
  const paused = await setWebhookState(engine.db, webhook, 'paused', engine.house.act())
  const attempt = () => startProbe(engine.db, paused, engine.house.act())
  assert.throws(attempt, new Conflict('This webhook is paused. Resume it, then probe.'))
})

test('the outcome of a delivery of another webhook is not told', async () => {
  const other = await engine.makeWebhook('/other')
  engine.receiver.on('/hook', fail)
  await engine.publish({})
  await engine.receiver.count('/hook', 1)
  await engine.idle()
  const [mine] = await engine.deliveries(webhook)
  const asked = { deliveryId: mine!.id, attemptsBefore: 0 }
  assert.equal(await findProbeOutcome(engine.db, other, asked), undefined)
  assert.equal((await findProbeOutcome(engine.db, webhook, asked))!.number, 1)
})

test('the backlog says whose order is held up, those with most behind them first, and stops counting', async () => {
  engine.receiver.on('/hook', fail)
  await engine.publish({ entity: 'transaction:a' })
  await engine.publish({ entity: 'transaction:b' }, { entity: 'transaction:b' }, { entity: 'transaction:b' })
  await engine.receiver.count('/hook', 2)
  await engine.idle()
  const { looked, entities: held, blocked, held: rows } = await readBacklog(engine.db, webhook, 10)
  assert.deepEqual([looked, held, blocked], [4, 2, 2])
  assert.deepEqual(
    rows.map(({ entity, waiting, behind, attempts }) => [entity, waiting, behind, attempts]),
    [
      ['transaction:b', 3, 2, 1],
      ['transaction:a', 1, 0, 1],
    ],
  )
  assert.equal((await readBacklog(engine.db, webhook, 1)).held.length, 1)
  const other = await engine.makeWebhook('/other')
  assert.deepEqual(await readBacklog(engine.db, other, 10), { looked: 0, entities: 0, blocked: 0, held: [] })
})
