import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTally } from './tally.ts'

test('each window counts for itself, up to what is allowed', () => {
  const tally = openTally()
  assert.deepEqual(
    [1, 2, 3, 4].map(() => tally.count(7, 'key', 3)),
    [1, 2, 3, 4],
  )
  assert.equal(tally.find(7, 'key'), 3, 'what was refused is not counted')
  assert.equal(tally.count(8, 'key', 3), 1)
})

test('whose clock is a moment behind counts in the window before, and takes nothing from the new one', () => {
  const tally = openTally()
  tally.count(7, 'key', 9)
  tally.count(8, 'key', 9)
  assert.deepEqual([tally.count(7, 'key', 9), tally.count(8, 'key', 9)], [2, 2])
  tally.count(10, 'key', 9)
  assert.equal(tally.find(9, 'key'), 0, 'a window that was passed over is empty')
})

test('what another has counted is known, and never less than before', () => {
  const tally = openTally()
  assert.ok(tally.isQuiet)
  tally.learn(7, 'key', 5)
  tally.learn(7, 'key', 4)
  assert.deepEqual([tally.find(7, 'key'), tally.isQuiet], [5, false])
})
