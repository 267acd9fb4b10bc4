/** `QUARTERS=200` for as many, `QUARTER_SEED=17` for one that went wrong. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openQuarter } from '../support/quarter.ts'
import { findProblems } from '../support/quarter-check.ts'

const first = Number(process.env.QUARTER_SEED ?? 1)
const count = Number(process.env.QUARTERS ?? (process.env.QUARTER_SEED ? 1 : 3))
const seeds = Array.from({ length: count }, (_, place) => first + place)

test('after ninety days of whatever comes, nothing is lost, out of order, unnumbered, or kept too long', {
  concurrency: 3,
}, async (quarters) => {
  await Promise.all(
    seeds.map((seed) =>
      quarters.test(`seed ${seed}`, async (t) => {
        const quarter = await openQuarter(seed)
        try {
          await quarter.live()
          const problems = await findProblems(quarter)
          const { events, deliveries, engine, story } = quarter
          t.diagnostic(
            `${events.size} events, ${deliveries.size} deliveries, ${engine.receiver.received.length} requests, ${story.length} acts`,
          )
          assert.deepEqual(problems, [], story.join('\n'))
          assert.ok(events.size > 20 && deliveries.size > 50, 'there was something to lose')
        } finally {
          await quarter.close()
        }
      }),
    ),
  )
})
