/** What charts count: attempts by when they were made, and everything that waits. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { day, hour, minute, second } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import { logOf } from '../../src/webhooks/events/branch-log.ts'
import {
  countWaiting,
  everyWebhook,
  openAttemptCounter,
  readCounts,
  thinCounts,
} from '../../src/webhooks/health/webhook-counts.ts'
import { type Period, periods } from '../../src/webhooks/subscriptions/columns.ts'
import { ask } from '../support/ask.ts'
import { attemptOf } from '../support/attempt-record.ts'
import { openTestDatabase } from '../support/database.ts'
import { openEngine } from '../support/engine.ts'
import { openKernel } from '../support/engine-kernel.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { fail } from '../support/receiver.ts'

const now = new Date('2026-03-02T10:07:00Z')
const ago = (ms: number) => new Date(now.getTime() - ms)

const database = await keepOpen(openTestDatabase())
const db = await keepOpen(openLenientDatabase({ connectionString: database.url, connections: 4 }))
beforeEach(() => db.script('TRUNCATE webhook_counts'))

const attemptsOf = ({
  accepted,
  refused,
  unreachable,
}: Record<'accepted' | 'refused' | 'unreachable', number>) => accepted + refused + unreachable

test('an attempt counts when it was made, however long before that its delivery was created', async () => {
  const engine = await openEngine()
  try {
    engine.receiver.on('/retried', fail)
    const webhook = await engine.makeWebhook('/retried')
    engine.house.clock.advance(hour - (engine.house.clock.now().getTime() % hour))
    await engine.publish({ entity: 'transaction:1' })
    await engine.receiver.count('/retried', 1)
    for (let attempts = 2; attempts <= 5; attempts++) {
      await engine.idle()
      await engine.advanceToNextLook()
      await engine.receiver.count('/retried', attempts)
    }
    // After 5 s, 30 s, 2 min, 10 min: four in the first quarter of an hour. The next after an hour.
    await engine.idle()
    await engine.advanceToNextLook()
    await engine.receiver.count('/retried', 6)
    await engine.idle()
    // The node may be writing some of it down just now.
    await eventually('all six are counted', async () => {
      await engine.house.gateway.context.attemptCounter.flush()
      return (await readCounts(engine.db, webhook.id, 'day', engine.house.clock.now())).all.refused === 6
    })
    for (const id of [webhook.id, everyWebhook]) {
      const { columns, all } = await readCounts(engine.db, id, 'day', engine.house.clock.now())
      assert.deepEqual(columns.slice(-2).map(attemptsOf), [5, 1])
      assert.deepEqual([all.refused, all.accepted, all.delivered.p50], [6, 0, null])
    }
  } finally {
    await engine.close()
  }
})

test('nothing is counted twice or lost: by several processes at once, and when the database was away', async () => {
  const counters = [1, 2, 3].map(() => openAttemptCounter(db))
  const away = openLenientDatabase({ connectionString: database.url, connections: 1 })
  const unlucky = openAttemptCounter(away)
  for (const counter of [...counters, unlucky])
    for (const kind of ['accepted', 'accepted', 'refused', 'unreachable'] as const)
      for (const webhookId of [7, 8]) counter.note(attemptOf({ webhookId, at: ago(minute), kind }))
  await away.close()
  await assert.rejects(unlucky.flush())
  const again = openAttemptCounter({ ...db, query: (...asked) => db.query(...asked) })
  again.note(attemptOf({ webhookId: 7, at: ago(minute) }))
  again.note(attemptOf({ webhookId: 7, at: ago(minute), isKept: false }))
  await Promise.all([...counters, again].map((counter) => counter.flush()))
  await Promise.all(counters.map((counter) => counter.flush()))
  const counted = async (id: number) => {
    const { accepted, refused, unreachable } = (await readCounts(db, id, 'hour', now)).all
    return [accepted, refused, unreachable]
  }
  assert.deepEqual(
    [await counted(7), await counted(8)],
    [
      [7, 3, 3],
      [6, 3, 3],
    ],
  )
  assert.deepEqual(await counted(everyWebhook), [13, 6, 6])
})

test('what could not be written is written with what came meanwhile', async () => {
  let isAway = true
  const query: Database['query'] = (...asked) =>
    isAway ? Promise.reject(new Error('away')) : db.query(...asked)
  const counter = openAttemptCounter({ ...db, query })
  counter.note(attemptOf({ webhookId: 7, at: now, ms: 10 }))
  await assert.rejects(counter.flush(), /away/)
  counter.note(attemptOf({ webhookId: 7, at: now, ms: 5_000 }))
  isAway = false
  await counter.flush()
  const { all } = await readCounts(db, 7, 'hour', now)
  assert.equal(all.accepted, 2)
  assert.ok(all.answered.p99! > 4_000 && all.answered.p50! < 15)
})

test('each period ends with the column of this moment, begins as far back as it says, and has what was made then', async () => {
  const counter = openAttemptCounter(db)
  const made = [0, 50 * minute, 20 * hour, 6 * day, 29 * day, 30 * day]
  for (const ms of made) counter.note(attemptOf({ webhookId: 7, at: ago(ms) }))
  await counter.flush()
  const expected: Record<Period, number> = { hour: 2, day: 3, '7days': 4, '30days': 5 }
  for (const [period, count] of Object.entries(expected) as [Period, number][]) {
    const { columns, all, columnMs, startsAt } = await readCounts(db, 7, period, now)
    assert.equal(columns.length, periods[period].columns)
    assert.equal(all.accepted, count, period)
    assert.equal(columns.at(-1)!.accepted >= 1, true)
    assert.equal(startsAt.getTime() % columnMs, 0, 'columns begin with the clock')
    assert.ok(startsAt.getTime() + columns.length * columnMs > now.getTime())
  }
})

test('how soon is told of answers alone, and of first deliveries alone', async () => {
  const counter = openAttemptCounter(db)
  counter.note(attemptOf({ webhookId: 7, at: now, ms: 100, publishedMsBefore: 900 }))
  counter.note(attemptOf({ webhookId: 7, at: now, ms: 100, publishedMsBefore: 9 * hour, isRepeat: true }))
  counter.note(attemptOf({ webhookId: 7, at: now, ms: 10_000, kind: 'unreachable' }))
  await counter.flush()
  const { answered, delivered } = (await readCounts(db, 7, 'hour', now)).all
  assert.ok(Math.abs(answered.p99! - 100) <= 25, `${answered.p99}`)
  assert.ok(Math.abs(delivered.p99! - second) <= 250, `${delivered.p99}`)
})

test('waiting counts everything that waits, what happens and what is sent again, due and behind another; the most of a column', async () => {
  const kernel = await keepOpen(openKernel())
  const first = await kernel.register()
  const second = await kernel.register({ branchId: await kernel.addPartner('Second') })
  const [one, other] = [first.id, second.id]
  await kernel.publish(['transaction:1', 'transaction:1', 'transaction:2', 'transaction:2'])
  await kernel.publish(['transaction:1'], { branchId: second.branchId })
  await kernel.attempt(`${one}-1`, { state: 'retrying' })
  await kernel.attempt(`${one}-3`)
  await kernel.attempt(`${one}-4`, {}, 4)
  const { part, feed } = logOf({ branchId: kernel.branchId, environment: 'live' })
  const entries = await ask<{ seq: number; day: number; entity: string }>(
    kernel.db,
    'SELECT seq, day, entity FROM log WHERE part = $1 AND feed = $2 AND seq > 2',
    [part, feed],
  )
  const again = 'SELECT send_again($1::smallint, $2::bigint, $3::bigint, $4::int, $5, $6)'
  for (const { seq, day, entity } of entries) await ask(kernel.db, again, [part, one, seq, day, entity, now])
  await Promise.all([countWaiting(kernel.db, now), countWaiting(kernel.db, now)])
  await kernel.attempt(`${one}-1`, { number: 2 })
  await countWaiting(kernel.db, now)
  const waits = async (id: number) => {
    const { waiting, blocked } = (await readCounts(kernel.db, id, 'hour', now)).columns.at(-1)!
    return [waiting, blocked]
  }
  assert.deepEqual(await waits(one), [4, 1])
  assert.deepEqual(await waits(other), [1, 0])
  assert.deepEqual(await waits(everyWebhook), [5, 1])
})

test('what is a day old is kept by the hour and tells the same; what is a month old leaves; two nodes may do it at once', async () => {
  const counter = openAttemptCounter(db)
  for (let n = 0; n < 500; n++)
    counter.note(
      attemptOf({
        ...{ webhookId: 7 + (n % 2), at: ago(n * 90 * minute), ms: n * 17 },
        kind: n % 5 === 0 ? 'refused' : 'accepted',
      }),
    )
  await counter.flush()
  const before = await readCounts(db, 7, '30days', now)
  await Promise.all([thinCounts(db, now), thinCounts(db, now)])
  const thinned = await readCounts(db, 7, '30days', now)
  assert.deepEqual(thinned, { ...before, countedSince: thinned.countedSince })
  const [kept] = await ask<{ fine: Date; first: Date }>(
    db,
    'SELECT min(starts_at) FILTER (WHERE minutes = 5) AS fine, min(starts_at) AS first FROM webhook_counts',
  )
  assert.ok(kept!.fine >= ago(27 * hour), 'the last day stays fine')
  assert.ok(kept!.first >= ago(32 * day))
  assert.equal(await thinCounts(db, now), 0, 'nothing is left to do')
})
