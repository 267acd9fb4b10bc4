/** A scenario in its short form, as a test. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runScenario } from './run.ts'
import type { Scenario } from './scenarios.ts'

/** Fewer requests than at length, so that there is room on two cores for whatever runs beside them. */
const scale = { calmMs: 500, faultMs: 1_500, isFull: false, pauseMs: 50, waiting: 4_000 }

/** Each waits for a part of its time: two at a time. */
export function testScenarios(title: string, scenarios: readonly Scenario[]): void {
  test(title, { concurrency: 2 }, async (suite) => {
    await Promise.all(
      scenarios.map((scenario) =>
        suite.test(scenario.name, async (t) => {
          const verdict = await runScenario(scenario, scale)
          if (!verdict) return t.skip('only root can mount a small file system')
          const { acknowledged, duplicates, resumedAfterMs, lost } = verdict
          t.diagnostic(
            `${acknowledged.events} events acknowledged, ${lost.length} lost, ${duplicates} duplicates, resumed after ${Math.round(resumedAfterMs)} ms`,
          )
          assert.deepEqual(lost, [])
          assert.ok(acknowledged.events > 0 && acknowledged.tokens > 0, 'there was something to lose')
        }),
      ),
    )
  })
}
