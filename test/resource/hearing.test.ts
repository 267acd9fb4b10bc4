/**
 * What is remembered is never behind what was told, whatever two nodes of the gateway know when, and in
 * whatever order questions, answers and changes meet: a model of them, of its own time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Clock } from '../../resource/src/clock.ts'
import { Hearing, type Question, staleAtMostMs } from '../../resource/src/hearing.ts'

class ModelClock implements Clock {
  now = 1_000_000

  nowMs(): number {
    return this.now
  }

  monotonicMs(): number {
    return this.now
  }
}

const timeoutMs = 5_000

/** Everything it does takes its time from the same clock; a change is told by one node, asked of another. */
class Model {
  readonly clock = new ModelClock()
  readonly hearing = new Hearing(this.clock, timeoutMs)
  /** How often it has changed, and when. */
  version = 0
  readonly changedAt: number[] = [0]
  /** Told of by the node that is heard, so far. */
  told = 0
  isOpen = false
  openedAt = 0
  asked: { question: Question; version: number }[] = []
  remembered: number | undefined

  change(): void {
    this.version++
    this.changedAt.push(this.clock.now)
  }

  /** What was changed so long ago is told; nothing may be told later than the bound. */
  tell(lagMs: number): void {
    if (!this.isOpen) return
    const upTo = this.lastBefore(this.clock.now - lagMs)
    if (upTo > this.told) {
      this.told = upTo
      this.hearing.changed(['tag'])
      this.remembered = undefined
    }
    this.hearing.beat(this.clock.now - lagMs - this.openedAt)
  }

  open(lagMs: number): void {
    this.end()
    this.isOpen = true
    this.openedAt = this.clock.now
    this.hearing.opened('own', this.clock.now)
    this.told = this.lastBefore(this.clock.now - lagMs)
    this.hearing.beat(-lagMs)
  }

  end(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.hearing.ended()
    this.remembered = undefined
  }

  /** The node that answers may be behind, unless it is to look anew. */
  ask(lagMs: number, isAnew = false): void {
    const question = this.hearing.question(isAnew)
    const version = question.isAnew ? this.version : this.lastBefore(this.clock.now - lagMs)
    this.asked.push({ question, version })
  }

  answer(place: number): void {
    const [answered] = this.asked.splice(place % Math.max(1, this.asked.length), 1)
    if (!answered) return
    const { question, version } = answered
    const worth = this.hearing.judge(question, ['own', 'tag'])
    if (worth === 'stale') this.ask(0, true)
    if (worth === 'lasting') this.remembered = version
  }

  private lastBefore(atMs: number): number {
    return this.changedAt.findLastIndex((at) => at <= atMs)
  }

  /** What is answered from memory misses nothing that was told, and nothing that is older than the bound. */
  check(): void {
    if (this.remembered === undefined || !this.hearing.isLive) return
    assert.ok(this.remembered >= this.told, 'what was told is not forgotten again')
    assert.ok(
      this.remembered >= this.lastBefore(this.clock.now - staleAtMostMs),
      `remembers ${this.remembered}, told ${this.told}, is ${this.version}`,
    )
  }
}

const lag = fc.integer({ min: 0, max: staleAtMostMs - 1 })
const little = fc.integer({ min: 0, max: 300 })
const lags = fc.oneof(little, lag)
const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: lags }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('change' as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('tell' as const), ms: lags }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('open' as const), ms: lags }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), ms: lags }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('answer' as const), place: fc.nat(2) }) },
)

test('however questions, answers and changes meet, nothing that is remembered is behind', () => {
  let remembered = 0
  fc.assert(
    fc.property(fc.array(act, { minLength: 5, maxLength: 60, size: 'max' }), (acts) => {
      const model = new Model()
      model.open(0)
      for (const each of acts) {
        if (each.kind === 'wait') model.clock.now += each.ms
        else if (each.kind === 'change') model.change()
        else if (each.kind === 'tell') model.tell(each.ms)
        else if (each.kind === 'open') model.open(each.ms)
        else if (each.kind === 'end') model.end()
        else if (each.kind === 'ask') model.ask(each.ms)
        else model.answer(each.place)
        model.check()
        if (model.remembered !== undefined) remembered++
      }
    }),
    { numRuns: 2_000 },
  )
  assert.ok(remembered > 1_000, `${remembered} times something was remembered`)
})

test('nothing is believed of a feed that is silent, late or asleep', () => {
  const clock = new ModelClock()
  const hearing = new Hearing(clock, timeoutMs)
  assert.equal(hearing.isLive, false)
  hearing.opened('own', clock.now)
  assert.equal(hearing.isLive, false, 'before the first beat')
  hearing.beat(0)
  assert.equal(hearing.isLive, true)
  clock.now += staleAtMostMs - 1
  assert.equal(hearing.isLive, true)
  clock.now += 1
  assert.equal(hearing.isLive, false)
  clock.now += 100
  hearing.beat(100)
  assert.equal(hearing.isLive, false, 'a beat of long ago')
  hearing.beat(Number.NaN)
  assert.equal(hearing.isLive, false)
  hearing.beat(staleAtMostMs)
  assert.equal(hearing.isLive, true)
  const slept = clock.now
  clock.nowMs = () => slept + staleAtMostMs
  assert.equal(hearing.isLive, false, 'the machine slept, and the clock that only goes on with it')
})

test('of more tags than can be kept any may have been told', () => {
  const clock = new ModelClock()
  const hearing = new Hearing(clock, timeoutMs)
  hearing.opened('own', clock.now)
  clock.now += staleAtMostMs
  hearing.beat(staleAtMostMs)
  hearing.changed(Array.from({ length: 150_000 }, (_, n) => `tag ${n}`))
  const question = hearing.question()
  for (const tag of ['tag 1', 'tag 149999', 'another'])
    assert.equal(hearing.judge(question, ['own', tag]), 'stale')
  clock.now += staleAtMostMs + 1
  hearing.beat(2 * staleAtMostMs)
  assert.equal(hearing.judge(hearing.question(), ['own', 'another']), 'lasting')
})

test('answers in the words of others are used once', () => {
  const clock = new ModelClock()
  const hearing = new Hearing(clock, timeoutMs)
  hearing.opened('own', clock.now)
  clock.now += staleAtMostMs
  hearing.beat(staleAtMostMs)
  assert.equal(hearing.judge(hearing.question(), ['own', 'a']), 'lasting')
  for (const tags of [[], ['other', 'own'], ['a', 'own']])
    assert.equal(hearing.judge(hearing.question(), tags), 'once')
})
