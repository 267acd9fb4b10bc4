import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, second } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import type { LogEntry } from '../../src/webhooks/engine/entry.ts'
import { Feed } from '../../src/webhooks/engine/feed.ts'
import { Lane, type LoadedLane } from '../../src/webhooks/engine/lane.ts'

const now = new Date('2026-03-02T10:00:00Z')
const refused = (due: number) => ({ state: 'retrying', dueAt: after(now, due) }) as const

function entryOf(seq: number): LogEntry {
  const what = { uid: `${seq}`, kind: 'TRANSACTION', action: 'SUBMITTED', entity: `transaction:${seq}`, body: '{}' }
  return { seq, day: 260302, simulated: false, webhookId: null, createdAt: now, traceparent: null, ...what }
}

function loadedOf(epoch: number): LoadedLane {
  const health = { failures: 0, failingSince: null, holdUntil: null, heldAt: null }
  const cursor = { webhookId: 1, feed: 2, position: 0, epoch, holder: 1, isOpen: true, passed: 0, ...health }
  const filters = [{ fromSeq: 1, kinds: ['TRANSACTION'], actions: {} }]
  return { cursor, filters, exceptions: [], agains: [], ahead: [], replay: undefined }
}

/** Everything is at hand: nothing is read. */
function openLane(entries: number): Lane<string> {
  const feed = new Feed({} as Database, 2)
  const lane = new Lane<string>(1, feed)
  feed.append(
    entries,
    Array.from({ length: entries }, (_, index) => entryOf(index + 1)),
  )
  lane.load(loadedOf(1))
  lane.scan()
  return lane
}

/** Ten that are refused: the breaker opens. */
function failTen(lane: Lane<string>): void {
  for (let n = 0; n < 10; n++) lane.answer(lane.next(now)!, refused(30 * second), 'no', now)
  assert.equal(lane.breaker.isOpen, true)
}

test('what a lane knows of its receiver and has not written down outlives that it is loaded anew', () => {
  for (const isSettling of [false, true]) {
    const lane = openLane(20)
    failTen(lane)
    if (isSettling) assert.equal(lane.compose(false, now)?.failures, 10)
    lane.load(loadedOf(1))
    lane.scan()
    assert.equal(lane.next(now), undefined, 'it probes when it would have')
    const settlement = lane.compose(false, now)!
    assert.deepEqual([settlement.failures, settlement.results.length], [10, 10])
    assert.deepEqual(settlement.holdUntil, after(now, 5 * second))
  }
})

test('an answer of the database to a lane that was loaded meanwhile changes nothing', () => {
  const lane = openLane(20)
  failTen(lane)
  const before = lane.compose(false, now)!
  lane.load(loadedOf(1))
  assert.deepEqual(lane.settled(before, new Map(), now), { replayEnded: false })
  assert.equal(lane.compose(false, now)!.results.length, 10)
})
