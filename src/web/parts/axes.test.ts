import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, hour, minute, second } from '../../clock.ts'
import { countAxis, durationAxis, printDuration, printSpan, printTick } from './axes.ts'

test('a scale of counts ends at a round number that is no less than the most, and its half is whole', () => {
  const tops = [0, 1, 2, 3, 5, 11, 40, 41, 999, 12_345].map((most) => countAxis(most).top)
  assert.deepEqual(tops, [2, 2, 2, 4, 10, 20, 40, 100, 1_000, 20_000])
  assert.deepEqual(countAxis(12_345).labels, ['20,000', '10,000', '0'])
})

test('a scale of durations ends at a round time, in the unit that fits', () => {
  assert.deepEqual(durationAxis(130).labels, ['200 ms', '100 ms', '0'])
  assert.deepEqual(durationAxis(1_500).labels, ['2 s', '1 s', '0'])
  assert.deepEqual(durationAxis(50 * second).labels, ['1 min', '30 s', '0'])
  assert.deepEqual(durationAxis(90 * day).labels, ['16 d', '8 d', '0'])
})

test('a duration has one unit and no more digits than can be read', () => {
  const words = [1, 999, 1_500, 12_345, 90 * second, 25 * hour].map(printDuration)
  assert.deepEqual(words, ['1 ms', '999 ms', '1.5 s', '12 s', '1.5 min', '1.0 d'])
})

test('a column says when it was, with the zone, and some of them stand under the axis', () => {
  const at = new Date('2026-03-02T10:15:00Z')
  assert.equal(printSpan(5 * minute, at).text, '2 Mar, 10:15 to 10:20 UTC')
  assert.equal(printSpan(day, new Date('2026-03-02')).text, '2 Mar UTC')
  assert.equal(printTick(at, 5 * minute)?.text, '10:15')
  assert.equal(printTick(new Date('2026-03-02T10:20:00Z'), 5 * minute), undefined)
  assert.equal(printTick(new Date('2026-03-02'), 6 * hour)?.text, '2 Mar')
})
