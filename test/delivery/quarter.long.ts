/** `QUARTERS=200` for as many, `QUARTER_SEED=17` for one that went wrong. */
import { test } from 'node:test'
import { liveThrough } from '../support/lived-quarter.ts'

const first = Number(process.env.QUARTER_SEED ?? 1)
const count = Number(process.env.QUARTERS ?? (process.env.QUARTER_SEED ? 1 : 3))
const seeds = Array.from({ length: count }, (_, place) => first + place)

test('after ninety days of whatever comes, nothing is lost, out of order, unnumbered, or kept too long', {
  concurrency: 3,
}, async (quarters) => {
  await Promise.all(seeds.map((seed) => quarters.test(`seed ${seed}`, (t) => liveThrough(t, seed, 90))))
})
