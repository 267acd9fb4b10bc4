/**
 * The tests of the engine and of deliveries on a Citus, the same as on one PostgreSQL, and what can happen to
 * its servers. `CITUS_URL` names the coordinator. Arguments choose files: `npm run test:citus --
 * test/engine/walks.test.ts`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'

/** What a Citus has no part in, and why. */
const leftOut: Readonly<Record<string, string>> = {
  'test/engine/lane.test.ts': 'it asks no database',
  'test/engine/model.test.ts': 'it asks no database',
  'test/engine/model.long.ts': 'it asks no database',
  'test/engine/one-part.test.ts': 'it reads the text of migrations and statements',
  'test/engine/mutants.test.ts': 'it reads the text of what is changed on purpose',
  'test/engine/mutants.long.ts': 'functions are replaced in one database: it tests the tests',
  'test/engine/lane-mutants.long.ts': 'the code is changed on purpose: it tests the tests',
  'test/delivery/plans.long.ts': 'it reads plans of one database',
}

const all = globSync('test/{engine,delivery}/*.{test,long}.ts')
  .filter((file) => !(file in leftOut))
  .sort()
const chosen = process.argv.slice(2)
const files = chosen.length > 0 ? chosen : [...all, 'test/citus/faults.ts']

if (process.env.CITUS_URL === undefined)
  throw new Error('CITUS_URL: name the coordinator of a Citus with two workers on this machine.')
const options = ['--test', '--test-concurrency=1', '--test-global-setup=test/support/global-setup.ts']
const child = spawn(process.execPath, [...options, ...files], { stdio: 'inherit' })
const [code] = await once(child, 'exit')
process.exitCode = code ?? 1
