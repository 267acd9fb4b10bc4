/**
 * From the start of a process to its first good answer at /readyz: on the data folder of an earlier start,
 * with the private PostgreSQL in it, and on a database that is migrated already. Processor time tells more
 * than the clock where the machine has other things to do.
 */
import { generateKey, printKey } from '../src/crypto/vault.ts'
import { findFreePort } from '../test/support/ports.ts'
import type { Benchmark, Figure } from './benchmark.ts'
import { readProcessUs } from './costs/processor-time.ts'
import { startPostgres } from './postgres.ts'
import { withinLimit } from './report.ts'
import { median } from './rounds.ts'
import { startServer } from './server-process.ts'
import { here, type Source } from './source.ts'
import { openStage, type Stage } from './stage.ts'

const rounds = 7

interface Place {
  readonly name: string
  readonly limitMs: number
  readonly env: Record<string, string>
}

interface Start {
  readonly readyMs: number
  readonly processorMs: number
}

export const start: Benchmark = {
  name: 'start',
  async run(stage) {
    const places = await preparePlaces(stage, here)
    const starts: Start[][] = []
    for (let round = 0; round < rounds; round++) starts.push(await startEach(here, places))
    return places.map(({ name, limitMs }, place) => {
      const readyMs = median(starts.map((each) => each[place]!.readyMs))
      const processorMs = median(starts.map((each) => each[place]!.processorMs))
      process.stderr.write(`${name}: processor time ${Math.round(processorMs)} ms\n`)
      return withinLimit(name, readyMs, limitMs, 'ms')
    })
  },
  async openCourse(stage, source) {
    const places = await preparePlaces(stage, source)
    return {
      async measure() {
        const starts = await startEach(source, places)
        return places.flatMap(({ name }, place): Figure[] => [
          { name, value: starts[place]!.readyMs, unit: 'ms', isCost: true },
          { name: `${name}: processor time`, value: starts[place]!.processorMs, unit: 'ms', isCost: true },
        ])
      },
    }
  },
}

/**
 * The first start makes the cluster and the tables, and what Node keeps of the code: the second finds
 * everything.
 */
async function preparePlaces(stage: Stage, source: Source): Promise<readonly Place[]> {
  const places = [
    { name: 'start: later, private PostgreSQL', limitMs: 1_200, env: { DATA_DIR: stage.makeFolder() } },
    {
      name: 'start: node on DATABASE_URL',
      limitMs: 700,
      env: {
        DATA_DIR: stage.makeFolder(),
        DATABASE_URL: await startPostgres(stage),
        SECRET_KEY: printKey(generateKey()),
      },
    },
  ]
  for (let time = 0; time < 2; time++) await startEach(source, places)
  return places
}

async function startEach(source: Source, places: readonly Place[]): Promise<Start[]> {
  const starts: Start[] = []
  for (const { env } of places) starts.push(await timeStart(source, env))
  return starts
}

async function timeStart(source: Source, env: Record<string, string>): Promise<Start> {
  const stage = openStage()
  const [port, sandboxPort, internalPort] = [await findFreePort(), await findFreePort(), await findFreePort()]
  try {
    const startedMs = performance.now()
    const pid = await startServer(stage, {
      program: new URL('bin/countersign.js', source.root),
      args: ['serve'],
      env: {
        HOST: '127.0.0.1',
        PORT: String(port),
        SANDBOX_PORT: String(sandboxPort),
        INTERNAL_PORT: String(internalPort),
        LOG_LEVEL: 'warn',
        ...env,
      },
      origin: `http://127.0.0.1:${port}`,
      readyPath: '/readyz',
    })
    return { readyMs: performance.now() - startedMs, processorMs: readProcessUs(pid) / 1000 }
  } finally {
    await stage.close()
  }
}
