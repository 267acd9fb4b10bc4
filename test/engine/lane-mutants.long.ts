/** Each mistake that the TypeScript of the engine could have is made in a process of its own, and the test that is named beside it fails there. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { laneMutants } from './lane-mutants.ts'

/** Mutants that would run for ever end here: that is no catch. */
const limitMs = 120_000

interface Ran {
  readonly code: number | null
  readonly report: string
}

async function run(mutant: string, file: string, title?: string): Promise<Ran> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const only = title ? [`--test-name-pattern=^${title.replace(/[^\w\s]/g, '\\$&')}$`] : []
  const child = spawn(
    process.execPath,
    ['--import', './test/engine/mutate.ts', '--test-reporter=tap', ...only, `test/engine/${file}`],
    { env: { ...env, LANE_MUTANT: mutant }, stdio: ['ignore', 'pipe', 'inherit'], timeout: limitMs },
  )
  const ended = new Promise<number | null>((exit) => child.once('exit', exit))
  return { report: await text(child.stdout), code: await ended }
}

const files = new Set(Object.values(laneMutants).map(({ caughtBy: [file] }) => file))

for (const file of files)
  test(`without a mistake everything passes: ${file}`, async () => {
    const { code, report } = await run('', file)
    assert.equal(code, 0, report)
  })

for (const [name, { about, caughtBy }] of Object.entries(laneMutants))
  test(`${name}: ${about}`, async () => {
    const [file, title] = caughtBy
    const { report } = await run(name, file, title)
    assert.ok(new RegExp(`^not ok \\d+ - ${title.replace(/[^\w\s]/g, '\\$&')}$`, 'm').test(report), report)
  })
