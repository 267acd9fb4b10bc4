import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addCells, addDuration, addPrinted, type Cells, quantileOf } from './durations.ts'

function cellsOf(durations: readonly number[]): Cells {
  const cells: Cells = []
  for (const ms of durations) addDuration(cells, ms)
  return cells
}

test('a quantile is right to a fifth of itself, or a millisecond', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 400_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95, 0.99, 1),
      (durations, share) => {
        const sorted = durations.toSorted((one, other) => one - other)
        const exact = sorted[Math.ceil(share * sorted.length) - 1]!
        const told = quantileOf(cellsOf(durations), share)!
        const width = exact < 10_000 ? 0.25 : 0.55
        assert.ok(Math.abs(told - exact) <= Math.max(1, width * exact), `${told} for ${exact}`)
      },
    ),
  )
})

test('cells that are added up tell what all of them together would', () => {
  const some = [0, 3, 40, 9_999]
  const others = [3, 250_000]
  const sum = cellsOf(some)
  addCells(sum, cellsOf(others))
  assert.deepEqual(sum, cellsOf([...some, ...others]))
})

test('of nothing there is no quantile, and what took longer than anything does is still counted', () => {
  assert.equal(quantileOf([], 0.5), null)
  assert.equal(cellsOf([Number.MAX_SAFE_INTEGER]).at(-1), 1)
})

test('cells are added as PostgreSQL prints them', () => {
  const cells: Cells = [1, 2]
  addPrinted(cells, '{}')
  assert.deepEqual(cells, [1, 2])
  addPrinted(cells, '{0,12,345}')
  assert.deepEqual(cells, [1, 14, 345])
  addPrinted(cells, '{7}')
  assert.deepEqual(cells, [8, 14, 345])
})
