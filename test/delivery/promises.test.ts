/** What must never be, made by hand: each is found, counted and told. */

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { minute } from '../../src/clock.ts'
import { type Metrics, openMetrics } from '../../src/metrics/metrics.ts'
import { findBroken, type PromiseName, promises, wholeScope } from '../../src/webhooks/health/invariants.ts'
import { openSweeper } from '../../src/webhooks/health/sweeper.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { type Kernel, openKernel } from '../support/engine-kernel.ts'

let kernel: Kernel
let webhook: Webhook
let metrics: Metrics
let told: string[]
let sweeper: ReturnType<typeof openSweeper>

/**
 * Of four the first fails and the second waits behind it, the third is delivered, and the fourth waits.
 * Nobody holds the lane.
 */
beforeEach(async () => {
  kernel = await openKernel()
  const { db, clock } = kernel
  metrics = openMetrics({ db, streamDb: db }, clock)
  told = []
  const log = pino({ level: 'error' }, { write: (line: string) => void told.push(JSON.parse(line).promise) })
  sweeper = openSweeper({ db, clock, log, metrics })
  webhook = await kernel.register()
  await kernel.publish(['transaction:1', 'transaction:1', 'transaction:2', 'transaction:3'])
  await kernel.attempt(`${webhook.id}-1`, { state: 'retrying' })
  await kernel.attempt(`${webhook.id}-3`, {}, 3)
  await letGo()
})
afterEach(() => kernel.close())

const letGo = () => sql('UPDATE cursors SET holder = NULL')

function sql<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return ask<Row>(kernel.db, text, values)
}

async function findNames(): Promise<PromiseName[]> {
  const broken = await findBroken(kernel.db, kernel.clock.now(), wholeScope())
  return [...new Set(broken.map(({ promise }) => promise))].sort()
}

async function count(promise: PromiseName): Promise<number> {
  const text = await metrics.print()
  return Number(
    text.match(new RegExp(`countersign_broken_promises_total\\{promise="${promise}"\\} (\\d+)`))![1],
  )
}

interface Breach {
  readonly promise: PromiseName
  readonly what: string
  readonly make: () => Promise<unknown>
  /** So for a moment it may be. */
  readonly passes?: true
}

const breaches: readonly Breach[] = [
  {
    ...{ promise: 'log', what: 'an event that has no number a minute after it was published', passes: true },
    async make() {
      await kernel.publish(['transaction:4'], { unread: true })
      kernel.clock.advance(2 * minute)
    },
  },
  {
    ...{ promise: 'log', what: 'an event that a publisher was told of and that is nowhere', passes: true },
    make: () =>
      sql(
        `INSERT INTO idempotency_keys (owner, key, request_hash, event_uids, created_at)
          VALUES ('service:1', 'a key', '\\x00', ARRAY[gen_random_uuid()], $1)`,
        [kernel.clock.now()],
      ),
  },
  {
    promise: 'gap',
    what: 'a number of a branch that is missing',
    make: () => sql('DELETE FROM log WHERE seq = 2'),
  },
  {
    ...{ promise: 'gap', what: 'a day of a branch that has numbers from before it began' },
    make: () => sql('UPDATE feed_days SET first = 2'),
  },
  {
    ...{ promise: 'twice', what: 'an event that has two numbers' },
    make: () =>
      sql(`INSERT INTO log (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
        SELECT part, feed, 5, day, simulated, created_at, uid, kind, action, entity, body FROM log
          WHERE seq = 4`),
  },
  { promise: 'lost', what: 'a delivery that nobody will make', make: () => sql('DELETE FROM exceptions') },
  {
    ...{ promise: 'head', what: 'a webhook that is further than its log' },
    async make() {
      await kernel.attempt(`${webhook.id}-4`, {}, 4)
      await letGo()
      await sql('UPDATE cursors SET position = 10')
    },
  },
  {
    ...{ promise: 'exception', what: 'a delivery that is tried again although it has ended' },
    make: () =>
      sql(`INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
        outcome)
        SELECT part, webhook_id, seq, round, 2, day, at, 1, 200, 'delivered', 'accepted' FROM outcomes
          WHERE seq = 1`),
  },
  {
    ...{ promise: 'exception', what: 'a delivery that was asked for again and never was' },
    make: () =>
      sql(`INSERT INTO agains (part, webhook_id, seq, round, day, entity, due_at, written_at)
        SELECT part, webhook_id, 99, 1, day, entity, due_at, written_at FROM exceptions`),
  },
  {
    ...{ promise: 'outcome', what: 'a delivery that has ended twice' },
    make: () =>
      sql(`INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
        outcome)
        SELECT part, webhook_id, seq, round, 2, day, at, 1, 200, 'delivered', 'accepted' FROM outcomes
          WHERE seq = 3`),
  },
  {
    ...{ promise: 'sleep', what: 'a lane with work that sleeps until somebody wakes it', passes: true },
    make: () => sql(`UPDATE cursors SET wake_at = 'infinity'`),
  },
  {
    ...{ promise: 'holder', what: 'a lane in the hands of a worker that is none', passes: true },
    make: () => sql('UPDATE cursors SET holder = -1'),
  },
]

for (const { promise, what, make, passes } of breaches) {
  test(`${what} is found, counted and told${passes ? ' when it stays so' : ''}`, async () => {
    assert.deepEqual(await findNames(), [])
    assert.deepEqual(await sweeper.sweep(), [])
    await make()
    assert.deepEqual(await findNames(), [promise])
    if (passes) assert.deepEqual(await sweeper.sweep(), [])
    const broken = await sweeper.sweep()
    assert.ok(broken.length > 0 && broken.every((each) => each.promise === promise))
    assert.equal(await count(promise), broken.length)
    assert.deepEqual(new Set(told), new Set([promise]))
  })
}

test('every promise has a breach above', () => {
  assert.deepEqual([...new Set(breaches.map(({ promise }) => promise))].sort(), Object.keys(promises).sort())
})
