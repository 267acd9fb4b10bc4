import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hour, minute, second } from '../../clock.ts'
import { nextAttemptAt, parseRetryAfter, retryWaitsMs } from './retry-schedule.ts'

const now = new Date('2026-03-02T10:00:00Z')
const waitAfter = (tries: number, retryAfterMs = 0, random = () => 0.5) => {
  const at = nextAttemptAt(tries, now, retryAfterMs, random)
  return at && at.getTime() - now.getTime()
}

test('the waits are 5 s, 30 s, 2 min, 10 min, 1 h, 3 h, 6 h, 12 h, 24 h, 24 h, and then there is none', () => {
  const waits = Array.from({ length: 11 }, (_, index) => waitAfter(index + 1))
  assert.deepEqual(waits, [
    ...[5 * second, 30 * second, 2 * minute, 10 * minute, hour],
    ...[3 * hour, 6 * hour, 12 * hour, 24 * hour, 24 * hour],
    undefined,
  ])
  const all = retryWaitsMs.reduce((sum, wait) => sum + wait, 0)
  assert.ok(all > 70 * hour && all < 71 * hour)
})

test('a wait is spread by a tenth to either side and no further', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (tries, random) => {
        const ratio = waitAfter(tries, 0, () => random)! / retryWaitsMs[tries - 1]!
        return ratio >= 0.9 - 1e-6 && ratio <= 1.1 + 1e-6
      },
    ),
  )
  assert.equal(
    waitAfter(1, 0, () => 0),
    4_500,
  )
  assert.ok(waitAfter(1, 0, () => 0.999_999)! >= 5_499)
})

test('Retry-After lengthens a wait, never shortens it, and counts for 24 hours at most', () => {
  assert.equal(waitAfter(1, 20 * second), 20 * second)
  assert.equal(waitAfter(2, 20 * second), 30 * second)
  assert.equal(waitAfter(1, 25 * hour), 24 * hour)
  assert.equal(waitAfter(11, hour), undefined)
})

test('Retry-After is seconds or a date; anything else, and the past, is no wish at all', () => {
  assert.equal(parseRetryAfter('120', now), 2 * minute)
  assert.equal(parseRetryAfter('Mon, 02 Mar 2026 10:01:00 GMT', now), minute)
  assert.equal(parseRetryAfter('Mon, 02 Mar 2026 09:00:00 GMT', now), 0)
  for (const nonsense of [undefined, '', 'soon', '-5', '1e3', '99999999999999999999'])
    assert.equal(parseRetryAfter(nonsense, now), 0, nonsense)
})
