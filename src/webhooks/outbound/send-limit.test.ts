import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, second } from '../../clock.ts'
import { SendLimit } from './send-limit.ts'

const start = new Date('2026-03-02T10:00:00Z')
const at = (ms: number) => after(start, ms)

/** Begins all that may be begun at each moment; answers the moments, in milliseconds. */
function begin(limit: SendLimit, moments: readonly number[]): number[] {
  const begun: number[] = []
  for (const ms of moments) {
    while (limit.left(at(ms)) > 0) {
      limit.note(at(ms))
      begun.push(ms)
    }
  }
  return begun
}

test('no second has more than the limit, wherever it begins', () => {
  for (const perSecond of [1, 2, 7, 100, 1000]) {
    const moments = Array.from({ length: 700 }, (_, place) => place * 7)
    const begun = begin(new SendLimit(perSecond), moments)
    for (const [place, ms] of begun.entries()) {
      const before = begun[place - perSecond]
      assert.ok(before === undefined || ms - before >= second, `${perSecond} a second: ${before} and ${ms}`)
    }
    assert.ok(begun.length >= perSecond * 4, `${begun.length} in five seconds of ${perSecond} each`)
  }
})

test('when nothing is left it says when to look again: at once where they are few, in bites where they are many', () => {
  const slow = new SendLimit(2)
  assert.equal(slow.note(at(0)), undefined)
  assert.deepEqual(slow.note(at(300)), at(1000))
  assert.deepEqual(slow.clearAt(at(300)), at(1300))
  const fast = new SendLimit(100)
  for (let ms = 0; ms < 99; ms++) fast.note(at(ms))
  assert.deepEqual(fast.note(at(99)), at(1004), 'a twentieth of a second’s worth')
  assert.equal(fast.left(at(1004)), 5)
})

test('a limit that is changed counts what was begun under the one before', () => {
  const before = new SendLimit(5)
  begin(before, [0])
  const lower = new SendLimit(2, before)
  assert.equal(lower.left(at(500)), 0)
  assert.equal(lower.left(at(1000)), 2)
  begin(lower, [1000])
  assert.equal(new SendLimit(10, lower).left(at(1000)), 8)
})

test('nothing counts any more after a second, nor what a clock wrote that was set back', () => {
  const limit = new SendLimit(1)
  assert.equal(limit.clearAt(at(0)), undefined)
  limit.note(at(0))
  assert.equal(limit.clearAt(at(1000)), undefined)
  limit.note(at(60_000))
  assert.equal(limit.left(at(0)), 1)
})
