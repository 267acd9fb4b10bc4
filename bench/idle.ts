/** What two nodes with nothing to do cost PostgreSQL, and how long the doctor takes beside them. */
import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Benchmark } from './benchmark.ts'
import { readFamilyUs } from './costs/processor-time.ts'
import { startEmptyGateway } from './gateway.ts'
import { findPostgresPid, startEachPostgres } from './postgres.ts'
import { type Result, withinLimit } from './report.ts'
import type { Stage } from './stage.ts'

const settlingMs = 5_000
const idleMs = 20_000
const idleLimit = 20
const doctorLimit = 10

export const idle: Benchmark = {
  name: 'idle',
  async run(stage) {
    const results: Result[] = []
    for (const { name, url } of await startEachPostgres(stage))
      results.push(...(await measure(stage, name, url)))
    return results
  },
}

async function measure(stage: Stage, name: string, databaseUrl: string): Promise<readonly Result[]> {
  const dataDir = stage.makeFolder()
  const { db } = await startEmptyGateway(stage, { databaseUrl, dataDir })
  await startEmptyGateway(stage, { databaseUrl, dataDir })
  const postgres = await findPostgresPid(db)
  await wait(settlingMs)
  const before = readFamilyUs(postgres)
  await wait(idleMs)
  const spentMs = (readFamilyUs(postgres) - before) / 1000
  const startedMs = performance.now()
  await runDoctor({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir, SECRET_KEY_FILE: `${dataDir}/secret.keys` })
  const tookS = (performance.now() - startedMs) / 1000
  return [
    withinLimit(`idle, two nodes${name}`, spentMs / (idleMs / 1000), idleLimit, 'ms of PostgreSQL a second'),
    withinLimit(`doctor${name}`, tookS, doctorLimit, 's'),
  ]
}

/** Whatever it finds: a machine for benchmarks has no certificates and no mail. */
async function runDoctor(env: NodeJS.ProcessEnv): Promise<void> {
  const program = fileURLToPath(new URL('../bin/countersign.js', import.meta.url))
  const settings = { PATH: process.env.PATH, PORT: '0', SANDBOX_PORT: '0', ...env }
  await promisify(execFile)(process.execPath, [program, 'doctor'], { env: settings }).catch(
    (error: { code?: number }) => {
      if (error.code !== 1) throw error
    },
  )
}
