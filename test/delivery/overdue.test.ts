/** What should have been sent and was not is seen, be it live or sent again; what takes its time is no incident. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'node:test'
import { after, minute, second } from '../../src/clock.ts'
import { readDepths, readOldest } from '../../src/webhooks/depths.ts'
import { getLane } from '../../src/webhooks/lane-health.ts'
import type { Webhook } from '../../src/webhooks/webhook.ts'
import { type Engine, openEngine } from '../support/engine.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine({ ROLES: 'api' })
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

const now = () => engine.house.clock.now()

/** One that is due now. */
const put = (id: number, urgency: 0 | 1) =>
  engine.sql(
    `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at) VALUES ($1, $2, $1, $3, $4, $5, $5)`,
    [id, webhook.id, `transaction:${id}`, urgency, now()],
  )

/** Of the lane: who holds it, and when somebody should look at it. */
const setLane = (claimId: string | null, attentionAt: Date | null) =>
  engine.sql('UPDATE lanes SET claim_id = $2, attention_at = $3 WHERE webhook_id = $1', [
    webhook.id,
    claimId,
    attentionAt,
  ])

async function look() {
  const { overdueSeconds } = await readDepths(engine.db, now())
  const { dueAt } = await readOldest(engine.db, now())
  const { condition } = await getLane(engine.db, webhook.id, now())
  const doctor = dueAt && dueAt < now() ? (now().getTime() - dueAt.getTime()) / second : 0
  return { overdueSeconds, doctor, condition }
}

test('what is to be sent again is overdue when nobody comes for its lane, also when the lane was forgotten', async () => {
  await put(1, 1)
  await setLane(null, now())
  engine.house.clock.advance(2 * minute)
  assert.deepEqual(await look(), { overdueSeconds: 120, doctor: 120, condition: 'late' })
  await setLane(null, null)
  assert.deepEqual(await look(), { overdueSeconds: 120, doctor: 120, condition: 'late' })
  await setLane(randomUUID(), after(now(), -30 * second))
  assert.deepEqual(
    await look(),
    { overdueSeconds: 30, doctor: 30, condition: 'healthy' },
    'its holder is gone since then',
  )
})

test('a long replay that somebody is at is no incident, however long its last delivery waits', async () => {
  await put(1, 1)
  await setLane(randomUUID(), after(now(), 12 * second))
  engine.house.clock.advance(10 * minute)
  await setLane(randomUUID(), after(now(), 12 * second))
  assert.deepEqual(await look(), { overdueSeconds: 0, doctor: 0, condition: 'healthy' })
  // On its way from one worker to the next.
  await setLane(null, after(now(), -1 * second))
  assert.deepEqual(await look(), { overdueSeconds: 1, doctor: 1, condition: 'healthy' })
})

test('what happens now is overdue from its own moment on, whoever is at its lane', async () => {
  await put(1, 1)
  await put(2, 0)
  engine.house.clock.advance(3 * minute)
  await setLane(randomUUID(), after(now(), 12 * second))
  assert.deepEqual(await look(), { overdueSeconds: 180, doctor: 180, condition: 'late' })
})

test('what its receiver wants to have later is not overdue', async () => {
  await put(1, 0)
  await put(2, 1)
  const later = after(now(), 60 * minute)
  await setLane(null, later)
  await engine.sql('UPDATE lanes SET held_until = $2 WHERE webhook_id = $1', [webhook.id, later])
  engine.house.clock.advance(10 * minute)
  const { overdueSeconds, doctor } = await look()
  assert.deepEqual([overdueSeconds, doctor], [0, 0])
})
