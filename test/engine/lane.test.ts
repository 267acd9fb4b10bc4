import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, hour, second } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import { Lane, type LoadedLane } from '../../src/webhooks/engine/lane.ts'
import type { LogEntry } from '../../src/webhooks/events/entry.ts'
import { Feed } from '../../src/webhooks/events/feed.ts'

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

test('what could not be sent while the lane was loaded anew is sent later', () => {
  const lane = openLane(1)
  const sending = lane.next(now)!
  lane.load(loadedOf(2))
  lane.putBack(sending)
  lane.scan()
  assert.equal(lane.next(now)?.seq, 1)
})

const replay = { round: 1, position: 0, last: 3, ahead: [] }
const replayed = [1, 2, 3].map(entryOf)

function openReplay(): Lane<string> {
  const lane = openLane(3)
  lane.load({ ...loadedOf(2), cursor: { ...loadedOf(2).cursor, position: 3 }, replay })
  lane.takeReplayed(1, 0, 3, replayed)
  return lane
}

const loadReplay = (lane: Lane<string>) =>
  lane.load({ ...loadedOf(3), cursor: { ...loadedOf(3).cursor, position: 3 }, replay })

/** All that it sends until it has nothing more; each is answered. */
function sendAll(lane: Lane<string>): number[] {
  const sent: number[] = []
  for (let sending = lane.next(now); sending; sending = lane.next(now)) {
    sent.push(sending.seq)
    lane.answer(sending, { state: 'delivered', dueAt: undefined }, 'yes', now)
    lane.settled(lane.compose(false, now)!, new Map(), now)
  }
  return sent
}

test('what a replay has sent is sent once, though the lane is loaded anew before the answer, before it is settled, or before it is read again', () => {
  for (const verdict of [{ state: 'delivered', dueAt: undefined } as const, refused(30 * second)])
    for (const readsAgain of ['first', 'after the answer', 'after it is settled']) {
      const lane = openReplay()
      const sending = lane.next(now)!
      loadReplay(lane)
      if (readsAgain === 'first') lane.takeReplayed(1, 0, 3, replayed)
      lane.answer(sending, verdict, 'an answer', now)
      if (readsAgain === 'after the answer') lane.takeReplayed(1, 0, 3, replayed)
      lane.settled(lane.compose(false, now)!, new Map(), now)
      if (readsAgain === 'after it is settled') lane.takeReplayed(1, 0, 3, replayed)
      assert.deepEqual(sendAll(lane), [2, 3], `${verdict.state}, read again ${readsAgain}`)
    }
})

test('a replay that was loaded anew does not go by what it asked for before', () => {
  const lane = openReplay()
  loadReplay(lane)
  lane.takeReplayed(1, 3, 9, [])
  assert.deepEqual(lane.wantsReplayed(), { round: 1, after: 0 })
})

test('what a replay could not send is sent by the same replay, and by no other', () => {
  const lane = openReplay()
  const sending = lane.next(now)!
  lane.putBack(sending)
  const again = lane.next(now)!
  assert.equal(again.seq, 1)
  lane.load({
    ...loadedOf(3),
    cursor: { ...loadedOf(3).cursor, position: 3 },
    replay: { ...replay, round: 2, position: 2 },
  })
  lane.putBack(again)
  lane.takeReplayed(2, 2, 3, [entryOf(3)])
  assert.deepEqual([lane.next(now)?.seq, lane.next(now)], [3, undefined])
})

/** One whose first entity waits for its next attempt, by a clock that was an hour ahead. The lane stays in hand: another of its entities is under way. */
test('what a lane in hand was to try again by a clock that has been set back since is due', () => {
  const ahead = after(now, hour)
  const lane = openLane(2)
  const first = lane.next(ahead)!
  lane.next(ahead)
  lane.answer(first, { state: 'retrying', dueAt: after(ahead, 30 * second) }, 'no', ahead)
  lane.settled(lane.compose(false, ahead)!, new Map(), ahead)
  assert.equal(lane.next(ahead), undefined)
  assert.deepEqual([lane.next(now)?.seq, lane.next(now)?.seq], [1, undefined])
})

test('what was judged by a clock that is set back before it is written down is due', () => {
  const ahead = after(now, hour)
  const lane = openLane(1)
  lane.answer(lane.next(ahead)!, { state: 'retrying', dueAt: after(ahead, 30 * second) }, 'no', ahead)
  const settlement = lane.compose(false, now)!
  assert.deepEqual(settlement.results[0]!.verdict, { state: 'retrying', dueAt: now })
  lane.settled(settlement, new Map(), now)
  assert.equal(lane.next(now)?.seq, 1)
})

test('a breaker in hand that was to probe by a clock that has been set back since probes', () => {
  const ahead = after(now, hour)
  const lane = openLane(20)
  for (let n = 0; n < 10; n++) lane.answer(lane.next(ahead)!, refused(2 * hour), 'no', ahead)
  lane.settled(lane.compose(false, ahead)!, new Map(), ahead)
  assert.equal(lane.breaker.isOpen, true)
  assert.equal(lane.next(ahead), undefined)
  assert.notEqual(lane.next(now), undefined)
})

test('what a receiver asks for after a clock has been set back counts, and not what it asked for before', () => {
  const ahead = after(now, hour)
  const lane = openLane(2)
  lane.hold(after(ahead, 60 * second), ahead)
  lane.hold(after(now, 5 * second), now)
  assert.equal(lane.next(after(now, 4 * second)), undefined)
  assert.notEqual(lane.next(after(now, 6 * second)), undefined)
})
