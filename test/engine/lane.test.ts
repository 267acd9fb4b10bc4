import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, hour, minute, second } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import {
  type Continuations,
  type CursorRow,
  type ExceptionRow,
  Lane,
  type LoadedLane,
  type Sending,
} from '../../src/webhooks/engine/lane.ts'
import type { LogEntry } from '../../src/webhooks/events/entry.ts'
import { Feed } from '../../src/webhooks/events/feed.ts'

const now = new Date('2026-03-02T10:00:00Z')
const refused = (due: number) => ({ state: 'retrying', dueAt: after(now, due) }) as const
const delivered = { state: 'delivered', dueAt: undefined } as const

function entryOf(seq: number, entity = `transaction:${seq}`): LogEntry {
  const what = { uid: `${seq}`, kind: 'TRANSACTION', action: 'SUBMITTED', entity, body: '{}' }
  return { seq, day: 260302, simulated: false, webhookId: null, createdAt: now, traceparent: null, ...what }
}

function loadedOf(epoch: number): LoadedLane {
  const health = { failures: 0, failingSince: null, holdUntil: null, heldAt: null, term: 0, triedIn: 0 }
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

test('a failure that could not be written down because somebody acted is written down later', () => {
  const lane = openLane(1)
  lane.answer(lane.next(now)!, refused(30 * second), 'no', now)
  assert.equal(lane.compose(false, now)!.failures, 1)
  lane.load(loadedOf(2))
  assert.deepEqual([lane.compose(false, now)!.failures, lane.breaker.failingSince], [1, now])
})

test('what was learned in an earlier term is nothing now: nothing is written of it, and the first answer of this term is', () => {
  const lane = openLane(20)
  failTen(lane)
  lane.load(loadedOf(1))
  lane.scan()
  const inNextTerm = loadedOf(2)
  lane.load({ ...inNextTerm, cursor: { ...inNextTerm.cursor, term: 1, failures: 10, failingSince: now } })
  lane.scan()
  assert.deepEqual([lane.breaker.isOpen, lane.breaker.failures], [false, 0])
  const sending = lane.next(now)!
  assert.deepEqual([lane.isFromBefore(sending), lane.compose(false, now)!.failures], [false, undefined])
  lane.answer(sending, delivered, 'yes', now)
  lane.settled(lane.compose(false, now)!, new Map(), now)
})

test('an answer to what was sent in an earlier term tells nothing of this one', () => {
  const lane = openLane(2)
  const [early, late] = [lane.next(now)!, lane.next(now)!]
  const inNextTerm = loadedOf(2)
  lane.load({ ...inNextTerm, cursor: { ...inNextTerm.cursor, term: 1 } })
  lane.scan()
  assert.deepEqual([lane.isFromBefore(early), lane.isFromBefore(late)], [true, true])
  lane.answer(early, refused(30 * second), 'no', now)
  const settlement = lane.compose(false, now)!
  assert.deepEqual(
    [settlement.results.length, settlement.failures],
    [1, undefined],
    'it is written, and is no sign',
  )
})

test('an answer of the database to a lane that was loaded meanwhile changes nothing', () => {
  const lane = openLane(20)
  failTen(lane)
  const before = lane.compose(false, now)!
  lane.load(loadedOf(1))
  assert.deepEqual(lane.settled(before, new Map(), now), { replayEnded: false })
  assert.deepEqual([lane.settlements, lane.findDue(now)], [0, undefined])
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

const replay = { round: 1, position: 0, last: 3, sent: 0, ahead: [] }
const replayed = [1, 2, 3].map((seq) => entryOf(seq))

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
    lane.answer(sending, delivered, 'yes', now)
    lane.settled(lane.compose(false, now)!, new Map(), now)
  }
  return sent
}

test('what a replay has sent is sent once, though the lane is loaded anew before the answer, before it is settled, or before it is read again', () => {
  for (const verdict of [delivered, refused(30 * second)])
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

test('what a replay has sent counts once, though the lane was read while that was written down', () => {
  const row = {
    entity: 'transaction:2',
    seq: 2,
    day: 260302,
    round: 1,
    attempts: 1,
    dueAt: now,
    writtenAt: now,
  }
  const written = [
    { verdict: delivered, loaded: { replay: { ...replay, sent: 1, ahead: [2] } } },
    { verdict: refused(hour), loaded: { replay: { ...replay, sent: 1 }, agains: [row] } },
    { verdict: delivered, loaded: { replay } },
  ]
  for (const { verdict, loaded } of written) {
    const lane = openReplay()
    const [first, second] = [lane.next(now)!, lane.next(now)!]
    lane.answer(second, verdict, 'an answer', now)
    const sent = [lane.compose(false, now)!.replay!.sent]
    lane.load({ ...loadedOf(2), cursor: { ...loadedOf(2).cursor, position: 3 }, ...loaded })
    lane.takeReplayed(1, 0, 3, replayed)
    lane.answer(first, delivered, 'yes', now)
    for (let settlement = lane.compose(false, now); settlement; settlement = lane.compose(false, now)) {
      if (settlement.replay) sent.push(settlement.replay.sent)
      lane.settled(settlement, new Map(), now)
      const next = lane.next(now)
      if (next) lane.answer(next, delivered, 'yes', now)
    }
    assert.deepEqual(sent, [1, 2, 3])
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

test('a lane that is told to leave sends nothing more, and is given back as soon as nothing is in the air, whatever it had read', () => {
  const lane = openLane(20)
  const sending = lane.next(now)!
  lane.leave()
  assert.equal(lane.next(now), undefined)
  assert.equal(lane.isIdle, false)
  lane.answer(sending, { state: 'delivered', dueAt: undefined }, 'yes', now)
  assert.equal(lane.isIdle, false, 'it is not written down yet')
  lane.settled(lane.compose(true, now)!, new Map(), now)
  assert.equal(lane.isIdle, true)
  lane.load(loadedOf(2))
  assert.equal(lane.state, 'leaving')
})

// ---- what a lane sends, and what it says to have written down ----

interface Setting extends Partial<Omit<LoadedLane, 'cursor'>> {
  readonly epoch?: number
  readonly cursor?: Partial<CursorRow>
}

const loaded = ({ epoch = 1, cursor, ...rest }: Setting = {}): LoadedLane => ({
  ...loadedOf(epoch),
  ...rest,
  cursor: { ...loadedOf(epoch).cursor, ...cursor },
})

/** A lane with what its log has, an entity each, above the position. */
function laneOf(entities: readonly string[], setting: Setting = {}): Lane<string> {
  const lane = new Lane<string>(1, new Feed({} as Database, 2))
  lane.load(loaded(setting))
  grow(lane, entities)
  return lane
}

function grow(lane: Lane<string>, entities: readonly string[]): void {
  const from = Math.max(lane.feed.head, lane.read) + 1
  lane.feed.append(
    from + entities.length - 1,
    entities.map((entity, place) => entryOf(from + place, entity)),
  )
  lane.scan()
}

function sendMost(lane: Lane<string>, at = now): Sending[] {
  const sendings: Sending[] = []
  for (let sending = lane.next(at); sending; sending = lane.next(at)) {
    sendings.push(sending)
    lane.scan()
  }
  return sendings
}

const seqsOf = (sendings: readonly Sending[]) => sendings.map(({ seq }) => seq)
const accept = (lane: Lane<string>, sending: Sending) => lane.answer(sending, delivered, 'yes', now)
const refuse = (lane: Lane<string>, sending: Sending) => lane.answer(sending, refused(30 * second), 'no', now)

function settle(lane: Lane<string>, nexts: Continuations = new Map()) {
  return lane.settled(lane.compose(false, now)!, nexts, now)
}

const exceptionOf = (entity: string, seq: number, row: Partial<ExceptionRow> = {}): ExceptionRow => ({
  ...{ entity, seq, day: 260302, attempts: 1, dueAt: after(now, 30 * second), writtenAt: now },
  ...row,
})
const exceptionsOf = (count: number, row: Partial<ExceptionRow> = {}) =>
  Array.from({ length: count }, (_, index) => exceptionOf(`failing:${index + 1}`, index + 1, row))
const many = (count: number, prefix = 'new') =>
  Array.from({ length: count }, (_, index) => `${prefix}:${index}`)

test('the next of an entity goes when the one before is settled, not when it is answered', () => {
  const lane = laneOf(['a', 'a', 'b'])
  const [first] = sendMost(lane)
  assert.equal(accept(lane, first!), true)
  assert.equal(lane.next(now), undefined, 'answered')
  const settlement = lane.compose(false, now)!
  assert.equal(lane.next(now), undefined, 'being settled')
  lane.settled(settlement, new Map(), now)
  assert.deepEqual(seqsOf(sendMost(lane)), [2])
})

test('an entity that fails waits with all that comes behind it, and goes on in its order; the others go', () => {
  const lane = laneOf(['a', 'a', 'b'])
  const [first, other] = sendMost(lane)
  assert.deepEqual([first!.seq, other!.seq], [1, 3])
  refuse(lane, first!)
  settle(lane)
  grow(lane, ['a', 'c'])
  assert.deepEqual(seqsOf(sendMost(lane)), [5])
  const later = after(now, 30 * second)
  for (const [seq, attempt, next] of [
    [1, 2, 2],
    [2, 1, 4],
    [4, 1, undefined],
  ] as const) {
    const [sending, ...others] = sendMost(lane, later)
    assert.deepEqual([sending!.seq, sending!.attempt, others], [seq, attempt, []])
    accept(lane, sending!)
    settle(lane, new Map([['a', next && { seq: next, day: 260302 }]]))
  }
  grow(lane, ['a'])
  assert.deepEqual(seqsOf(sendMost(lane)), [6])
})

test('ten are in the air at once, and a hundred are sent and not settled', () => {
  const lane = laneOf(many(150))
  let sent = 0
  for (;;) {
    const sendings = sendMost(lane)
    assert.ok(lane.inFlight <= 10, `${lane.inFlight} in the air`)
    if (sendings.length === 0) break
    sent += sendings.length
    for (const sending of sendings) accept(lane, sending)
    lane.scan()
  }
  assert.deepEqual([sent, lane.unsettled], [100, 100])
  settle(lane)
  lane.scan()
  assert.equal(sendMost(lane).length, 10)
})

test('the position lies below the first that is unfinished, and counts nothing that is being written down', () => {
  const lane = laneOf(['a', 'b', 'c'])
  const [first, ...others] = sendMost(lane)
  const written = () => {
    const settlement = lane.compose(true, now)!
    lane.settled(settlement, new Map(), now)
    return settlement.position
  }
  for (const sending of others) accept(lane, sending)
  assert.equal(written(), undefined, 'the first is in the air')
  accept(lane, first!)
  assert.equal(written(), undefined, 'the first is being written down')
  assert.equal(written(), 3)
})

test('a lane has one settlement at a time, with all that was answered before it', () => {
  const lane = laneOf(['a', 'b'])
  const [first, second] = sendMost(lane)
  accept(lane, first!)
  const settlement = lane.compose(true, now)!
  accept(lane, second!)
  assert.equal(lane.compose(true, now), undefined)
  assert.equal(settlement.results.length, 1)
  lane.settled(settlement, new Map(), now)
  assert.deepEqual(
    lane.compose(true, now)!.results.map(({ sending }) => sending.seq),
    [2],
  )
})

test('what is in the air while the lane is loaded anew is not sent again, and its answer is told with the new epoch', () => {
  const lane = laneOf(['a', 'a', 'b'])
  const [first, other] = sendMost(lane)
  lane.load(loaded({ epoch: 2 }))
  lane.scan()
  assert.deepEqual(sendMost(lane), [])
  assert.deepEqual([accept(lane, first!), accept(lane, other!)], [true, true])
  const settlement = lane.compose(false, now)!
  assert.deepEqual([settlement.epoch, settlement.results.length], [2, 2])
  lane.settled(settlement, new Map(), now)
  assert.deepEqual(seqsOf(sendMost(lane)), [2])
})

test('what is sent and not settled takes no room of what a lane reads ahead when it is loaded anew', () => {
  const lane = laneOf(many(150))
  for (let sent = 0; sent < 60; sent++) {
    accept(lane, lane.next(now)!)
    lane.scan()
  }
  lane.load(loaded({ epoch: 2 }))
  lane.scan()
  assert.equal(lane.read, 110)
})

test('what was refused for an act is told once more, with the epoch of the act', () => {
  const lane = laneOf(['a', 'b'])
  const [first, other] = sendMost(lane)
  accept(lane, first!)
  assert.equal(lane.compose(false, now)!.epoch, 1)
  accept(lane, other!)
  lane.load(loaded({ epoch: 2 }))
  const { epoch, results } = lane.compose(false, now)!
  assert.deepEqual([epoch, results.map(({ sending }) => sending.seq)], [2, [1, 2]])
})

test('whoever takes a lane over does not send what was finished above the position', () => {
  assert.deepEqual(seqsOf(sendMost(laneOf(['a', 'b', 'c'], { ahead: [2] }))), [1, 3])
})

test('whoever takes a lane over goes on with what fails above the position, and does not begin it anew', () => {
  const lane = laneOf(['a', 'b', 'a'], { exceptions: [exceptionOf('a', 1, { attempts: 3 })] })
  assert.deepEqual(seqsOf(sendMost(lane)), [2])
  const [retry] = sendMost(lane, after(now, 30 * second))
  assert.deepEqual([retry!.seq, retry!.attempt], [1, 4])
})

test('an attempt has its number when it is sent: one that is written down already is not told again', () => {
  for (const [written, told] of [
    [2, undefined],
    [1, [2]],
  ] as const) {
    const lane = laneOf(['a'], { exceptions: [exceptionOf('a', 1, { dueAt: now })] })
    refuse(lane, lane.next(now)!)
    lane.compose(false, now)
    // Its answer was lost, or it was.
    lane.load(loaded({ exceptions: [exceptionOf('a', 1, { attempts: written })] }))
    const results = lane.compose(false, now)?.results.map(({ sending }) => sending.attempt) ?? []
    assert.deepEqual(results, told ?? [])
  }
})

test('what was passed, or has ended, while it was in the air is not told; what was passed is not sent', () => {
  for (const setting of [{ cursor: { passed: 1 } }, { ahead: [1] }, { cursor: { position: 1 } }]) {
    const lane = laneOf(['a', 'b'])
    const [first] = sendMost(lane)
    lane.load(loaded({ epoch: 2, ...setting }))
    assert.equal(accept(lane, first!), false, JSON.stringify(setting))
  }
  assert.deepEqual(seqsOf(sendMost(laneOf(['a', 'b', 'c'], { cursor: { passed: 2 } }))), [3])
})

test('while an entity that failed is written down as finished, nothing more is read: what comes then is not missed', () => {
  const lane = laneOf(['a'], { exceptions: [exceptionOf('a', 1, { dueAt: now })] })
  accept(lane, lane.next(now)!)
  const settlement = lane.compose(false, now)!
  grow(lane, ['a'])
  assert.deepEqual([settlement.read, lane.read], [1, 1])
  lane.settled(settlement, new Map([['a', undefined]]), now)
  lane.scan()
  assert.deepEqual(seqsOf(sendMost(lane)), [2])
})

// ---- bounds ----

test('a thousand entities fail at most: what is under way and may fail counts, and retries go on', () => {
  const lane = laneOf(many(20), { cursor: { position: 995 }, exceptions: exceptionsOf(995) })
  const sendings = sendMost(lane)
  assert.equal(sendings.length, 5)
  for (const sending of sendings) refuse(lane, sending)
  assert.deepEqual(sendMost(lane), [], 'answered')
  const settlement = lane.compose(false, now)!
  assert.deepEqual(sendMost(lane), [], 'being settled')
  lane.settled(settlement, new Map(), now)
  assert.deepEqual([lane.isFull, sendMost(lane)], [true, []])
  const retries = sendMost(lane, after(now, 30 * second))
  assert.deepEqual(
    [retries.length, new Set(retries.map(({ source }) => source))],
    [8, new Set(['exception'])],
  )
  accept(lane, retries[0]!)
  settle(lane, new Map([[retries[0]!.entity, undefined]]))
  assert.equal(sendMost(lane).filter(({ source }) => source === 'new').length, 1, 'room for one')
})

test('an entity that fails takes one place, whatever waits behind it', () => {
  const lane = laneOf([...Array<string>(20).fill('a'), 'b', 'c'], {
    cursor: { position: 998 },
    exceptions: exceptionsOf(998),
  })
  const [first, other, ...more] = sendMost(lane)
  assert.deepEqual([first!.entity, other!.entity, more], ['a', 'b', []])
  refuse(lane, first!)
  accept(lane, other!)
  settle(lane)
  assert.deepEqual(
    sendMost(lane).map(({ entity }) => entity),
    ['c'],
  )
})

test('retries leave a fifth of the attempts at once to what is new, and what is new a fifth to them', () => {
  const exceptions = exceptionsOf(20)
  const later = after(now, 30 * second)
  const retrying = laneOf([], { cursor: { position: 20 }, exceptions })
  assert.equal(sendMost(retrying, later).length, 8)
  grow(retrying, many(5))
  assert.deepEqual(
    sendMost(retrying, later).map(({ source }) => source),
    ['new', 'new'],
  )
  const busy = laneOf(many(20), { cursor: { position: 20 }, exceptions })
  for (let count = 0; count < 8; count++) busy.next(now)
  assert.deepEqual(
    sendMost(busy, later).map(({ source }) => source),
    ['exception', 'exception'],
  )
})

test('a lane reads fifty ahead of what it sends, and ten thousand above what is unfinished', () => {
  assert.equal(laneOf(many(80)).read, 50)
  const lane = laneOf(['a'])
  lane.next(now)
  const unwanted = (seq: number) => ({ ...entryOf(seq), kind: 'APPLICATION' })
  for (let page = 0; page < 3; page++) {
    const from = lane.feed.head + 1
    lane.feed.append(
      from + 4_999,
      Array.from({ length: 5_000 }, (_, index) => unwanted(from + index)),
    )
    lane.scan()
  }
  assert.equal(lane.read, 10_001)
})

// ---- moments ----

test('by a clock that was set back since they were written, retries are due and nothing is held', () => {
  const before = after(now, -hour)
  const lane = laneOf(['a'], { exceptions: [exceptionOf('a', 1)] })
  assert.deepEqual([lane.findDue(now), lane.findDue(before)], [after(now, 30 * second), before])
  assert.equal(lane.next(now), undefined)
  assert.equal(laneOf(['a'], { exceptions: [exceptionOf('a', 1)] }).next(before)?.attempt, 2)
  const held = { cursor: { holdUntil: after(now, minute), heldAt: now } }
  assert.equal(laneOf(['a'], held).next(now), undefined)
  assert.equal(laneOf(['a'], held).next(before)?.seq, 1)
})

test('nothing goes before the moment that the receiver asked for, which is written down', () => {
  const lane = laneOf(['a', 'b'])
  const until = after(now, minute)
  lane.hold(until, now)
  assert.equal(lane.next(after(now, 59 * second)), undefined)
  assert.deepEqual(lane.compose(false, now)?.holdUntil, until)
  assert.deepEqual(seqsOf(sendMost(lane, until)), [1, 2])
})

test('with an open breaker one attempt at a time probes, in turns what waits and something new', () => {
  const lane = laneOf(many(30))
  failTen(lane)
  settle(lane)
  let at = now
  const probes: string[] = []
  for (let count = 0; count < 4; count++) {
    at = after(at, minute)
    const [probe, ...others] = sendMost(lane, at)
    assert.deepEqual(others, [])
    lane.answer(probe!, { state: 'retrying', dueAt: after(at, hour) }, 'no', at)
    assert.equal(lane.next(after(at, minute)), undefined, 'its answer is not settled')
    lane.settled(lane.compose(false, at)!, new Map(), at)
    probes.push(probe!.source)
  }
  assert.deepEqual(probes.toSorted(), ['exception', 'exception', 'new', 'new'])
})

// ---- again ----

const againOf = (entity: string, seq: number, round: number, row: Partial<ExceptionRow> = {}) => ({
  ...exceptionOf(entity, seq, { attempts: 0, dueAt: now, ...row }),
  round,
})

test('what is sent again holds up nothing that happens, nor is it held up', () => {
  const lane = laneOf(['a'], { cursor: { position: 1 }, agains: [againOf('a', 1, 1)] })
  const sendings = sendMost(lane)
  assert.deepEqual(sendings.map(({ source }) => source).toSorted(), ['again', 'new'])
  refuse(lane, sendings.find(({ source }) => source === 'again')!)
  settle(lane)
  accept(lane, sendings.find(({ source }) => source === 'new')!)
  settle(lane)
  grow(lane, ['a'])
  assert.deepEqual(seqsOf(sendMost(lane)), [3])
})

test('what is sent again goes in the order of its entity, one at a time', () => {
  const agains = [againOf('a', 2, 1), againOf('a', 1, 2), againOf('a', 1, 3)]
  const lane = laneOf([], { cursor: { position: 2 }, agains })
  const sent: string[] = []
  for (let count = 0; count < 3; count++) {
    const [sending, ...others] = sendMost(lane)
    assert.deepEqual(others, [])
    accept(lane, sending!)
    assert.equal(lane.next(now), undefined, 'answered')
    settle(lane)
    sent.push(`${sending!.seq}/${sending!.round}`)
  }
  assert.deepEqual(sent, ['1/2', '1/3', '2/1'])
})

function replayOf(
  entities: readonly string[],
  setting: Setting = {},
  ahead: readonly number[] = [],
): Lane<string> {
  const last = entities.length
  const lane = laneOf([], {
    cursor: { position: last },
    replay: { round: 7, position: 0, last, sent: 0, ahead },
    ...setting,
  })
  lane.takeReplayed(
    7,
    0,
    last,
    entities.map((entity, place) => entryOf(place + 1, entity)),
  )
  return lane
}

test('a replay sends the next of an entity when the one before is settled, and what happens goes first', () => {
  const lane = replayOf(['a', 'a', 'b'])
  grow(lane, ['a'])
  const [live, first, other, ...more] = sendMost(lane)
  assert.deepEqual([live!.source, seqsOf([first!, other!]), more], ['new', [1, 3], []])
  accept(lane, first!)
  assert.equal(lane.next(now), undefined, 'answered')
  settle(lane)
  assert.deepEqual(seqsOf(sendMost(lane)), [2])
})

test('what a replay finished above its position is not sent again by whoever takes the lane over', () => {
  assert.deepEqual(seqsOf(sendMost(replayOf(['a', 'b', 'c'], {}, [2]))), [1, 3])
})

test('what waits in a replay behind one that failed is written down as asked for, and the replay goes on', () => {
  const lane = replayOf(['a', 'a', 'b'])
  const [first, other] = sendMost(lane)
  refuse(lane, first!)
  settle(lane)
  assert.deepEqual(sendMost(lane), [])
  accept(lane, other!)
  const settlement = lane.compose(false, now)!
  assert.deepEqual([settlement.replay?.position, settlement.replay?.deferred.map(({ seq }) => seq)], [3, [2]])
  assert.deepEqual(lane.settled(settlement, new Map(), now), { replayEnded: true })
  assert.deepEqual(seqsOf(sendMost(lane, now)), [], 'the first of the entity waits')
  assert.deepEqual(seqsOf(sendMost(lane, after(now, 30 * second))), [1])
})

test('the position of a replay passes nothing that is in the air, and the replay ends with the last', () => {
  const lane = replayOf(['a', 'b', 'c'])
  const [first, second, third] = sendMost(lane)
  const told: unknown[] = []
  for (const sending of [second, third, first]) {
    accept(lane, sending!)
    const settlement = lane.compose(true, now)!
    told.push([settlement.replay!.position, lane.settled(settlement, new Map(), now).replayEnded])
  }
  assert.deepEqual(told, [
    [0, false],
    [0, false],
    [3, true],
  ])
})

test('a replay waits while a thousand of what is sent again wait', () => {
  const agains = Array.from({ length: 1_000 }, (_, index) =>
    againOf(index === 0 ? 'a' : `other:${index}`, index + 1, 1, { dueAt: after(now, hour) }),
  )
  const replay = { round: 7, position: 1_000, last: 1_001, sent: 0, ahead: [] }
  const lane = laneOf([], { cursor: { position: 1_001 }, agains, replay })
  lane.takeReplayed(7, 1_000, 1_001, [entryOf(1_001, 'a')])
  assert.deepEqual([sendMost(lane), lane.compose(true, now)], [[], undefined])
})

// ---- whose it is ----

test('a lane that is lost says nothing more, neither what it sent nor how far it is: its webhook has one lane in a settlement', () => {
  const lane = laneOf(['a', 'b'])
  const [first, other] = sendMost(lane)
  accept(lane, first!)
  lane.lose()
  assert.equal(refuse(lane, other!), false)
  assert.deepEqual([lane.next(now), lane.compose(true, now)], [undefined, undefined])
})

test('a lane that is closed sends and reads nothing; one that leaves ends what it began', () => {
  const closed = laneOf(['a'], { cursor: { isOpen: false } })
  assert.deepEqual([closed.next(now), closed.read], [undefined, 0])
  const lane = laneOf(many(20))
  const [first] = sendMost(lane)
  lane.leave()
  assert.equal(accept(lane, first!), true)
  assert.equal(lane.next(now), undefined)
  assert.equal(lane.compose(false, now)!.results.length, 1)
})

test('what a webhook wanted when an entry was numbered decides, not what it wants when it is read', () => {
  const filters = [
    { fromSeq: 1, kinds: ['TRANSACTION'], actions: {} },
    { fromSeq: 3, kinds: ['APPLICATION'], actions: {} },
  ]
  assert.deepEqual(seqsOf(sendMost(laneOf(['a', 'b', 'c'], { filters }))), [1, 2])
})

/**
 * One whose first entity waits for its next attempt, by a clock that was an hour ahead. The lane stays in
 * hand: another of its entities is under way.
 */
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
