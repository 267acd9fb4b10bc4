/**
 * Each mistake that the TypeScript of the engine could have is made in a process of its own, and the test
 * that is named beside it fails there.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { laneMutants } from './lane-mutants.ts'

/** Mutants that would run for ever end here: that is no catch. */
const limitMs = 120_000

/** That of the tests is made for the busiest machine; without a mistake they pass with the short one too. */
const shortTimeout = { TEST_TIMEOUT_MS: '15000' }

type Report = Readonly<{ isCaught: boolean; isPassed: boolean; text: string }>

/** Of a file of tests, one of them alone. */
async function run(mutant: string, [file, title]: readonly [string, string]): Promise<Report> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const name = title.replace(/[^\w\s]/g, '\\$&')
  const child = spawn(
    process.execPath,
    [
      ...['--import', './test/engine/mutate.ts', '--test-reporter=tap'],
      ...[`--test-name-pattern=^${name}$`, `test/engine/${file}`],
    ],
    {
      env: { ...env, ...shortTimeout, LANE_MUTANT: mutant },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: limitMs,
    },
  )
  const printed = await text(child.stdout)
  const has = (mark: string) => new RegExp(`^${mark} \\d+ - ${name}$`, 'm').test(printed)
  return { isCaught: has('not ok'), isPassed: has('ok'), text: printed }
}

const tests = new Map(Object.values(laneMutants).map(({ caughtBy }) => [caughtBy.join(': '), caughtBy]))

for (const [name, caughtBy] of tests)
  test(`without a mistake it passes: ${name}`, async () => {
    const { isPassed, text } = await run('', caughtBy)
    assert.ok(isPassed, text)
  })

/** Some are found by what never comes: they wait together. */
test('each mistake is found', { concurrency: 4 }, async (t) => {
  const all = Object.entries(laneMutants).map(([name, { about, caughtBy }]) =>
    t.test(`${name}: ${about}`, async (t) => {
      const { isCaught, text } = await run(name, caughtBy)
      assert.ok(isCaught, text)
      t.diagnostic(/^ +error: (?:\|-\s+)?(.*)$/m.exec(text)?.[1] ?? '')
    }),
  )
  await Promise.all(all)
})
