import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, hour, minute, second } from '../../../clock.ts'
import { held } from '../frame/held.ts'
import { printDuration } from './lane-words.ts'

test('a duration is told in its two largest parts', () => {
  const told: [number, string][] = [
    [-5, '0 s'],
    [999, '0 s'],
    [59 * second, '59 s'],
    [minute, '1 min'],
    [90 * second, '1 min 30 s'],
    [hour + 59 * second, '1 h'],
    [3 * hour + 20 * minute, '3 h 20 min'],
    [400 * day + hour, '400 d 1 h'],
  ]
  for (const [ms, words] of told) assert.equal(printDuration(ms), words)
})

test('what is held is asked once, and what failed is asked again', async () => {
  let asked = 0
  const answer = held(async () => {
    if (++asked === 1) throw new Error('away')
    return asked
  }, hour)
  await assert.rejects(answer(), /away/)
  assert.deepEqual([await answer(), await answer()], [2, 2])
})
