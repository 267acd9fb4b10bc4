/**
 * What should have been sent and was not is seen, be it live or sent again; what takes its time is no
 * incident.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { after, minute, second } from '../../src/clock.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { readDepths, readOldest } from '../../src/webhooks/health/depths.ts'
import { getLane } from '../../src/webhooks/health/lane-health.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { type Engine, fillWithSettled, openEngine } from '../support/engine.ts'
import { lookAtAll } from '../support/look-inside.ts'

let engine: Engine
let webhook: Webhook
beforeEach(async () => {
  engine = await openEngine({ ROLES: 'api' })
  webhook = await engine.makeWebhook('/hook')
})
afterEach(() => engine.close())

const now = () => engine.house.clock.now()

/** One that has ended is to be sent once more, now. */
async function askAgain(): Promise<void> {
  await fillWithSettled(engine, webhook, { prefix: 'transaction', count: 1, state: 'exhausted', at: now() })
  const part = partOf(engine.branchId)
  const [entry] = await engine.sql<{ seq: number; day: number; entity: string }>(
    'SELECT seq, day, entity FROM log WHERE part = $1',
    [part],
  )
  const { seq, day, entity } = entry!
  await engine.sql('SELECT send_again($1::smallint, $2::bigint, $3::bigint, $4::int, $5, $6)', [
    ...[part, webhook.id, seq, day, entity, now()],
  ])
}

/** One that happens now. */
async function happen(): Promise<void> {
  await engine.publish({ entity: 'transaction:new' })
  await lookAtAll(engine.db, partOf(engine.branchId), now())
}

/** Of the lane: who holds it. */
const setHolder = (holder: number | null) =>
  engine.sql('UPDATE cursors SET holder = $2, epoch = epoch + 1 WHERE webhook_id = $1', [webhook.id, holder])

async function look() {
  const { overdueSeconds } = await readDepths(engine.db, now())
  const { dueAt } = await readOldest(engine.db, now())
  const { condition } = await getLane(engine.db, webhook.id, now())
  const doctor = dueAt && dueAt < now() ? (now().getTime() - dueAt.getTime()) / second : 0
  return { overdueSeconds, doctor, condition }
}

test('what is to be sent again is overdue when nobody comes for its lane', async () => {
  await askAgain()
  engine.house.clock.advance(2 * minute)
  assert.deepEqual(await look(), { overdueSeconds: 120, doctor: 120, condition: 'late' })
})

test('a long replay that somebody is at is no incident, however long its last delivery waits', async () => {
  await askAgain()
  await setHolder(1)
  engine.house.clock.advance(10 * minute)
  assert.deepEqual(await look(), { overdueSeconds: 0, doctor: 0, condition: 'not tried' })
})

test('what happens now is overdue from its own moment on, whoever is at its lane', async () => {
  await askAgain()
  await happen()
  engine.house.clock.advance(3 * minute)
  await setHolder(1)
  assert.deepEqual(await look(), { overdueSeconds: 180, doctor: 180, condition: 'late' })
})

test('what its receiver wants to have later is not overdue', async () => {
  await askAgain()
  await happen()
  await engine.sql('UPDATE cursors SET hold_until = $2 WHERE webhook_id = $1', [
    webhook.id,
    after(now(), 60 * minute),
  ])
  engine.house.clock.advance(10 * minute)
  const { overdueSeconds, doctor } = await look()
  assert.deepEqual([overdueSeconds, doctor], [0, 0])
})
