/**
 * `npm run bench [-- NAME… [--against REF] [--rows N]]`: runs the named benchmarks, or all, and prints one table. With `--against`, each beside the
 * gateway of another commit; with `--rows`, those that prepare many rows prepare so many.
 */
import { parseArgs } from 'node:util'
import { type Benchmark, type Options, runAgainst } from './benchmark.ts'
import { beside } from './beside.ts'
import { claim } from './claim.ts'
import { codeExchange } from './code-exchange.ts'
import { delivery } from './delivery.ts'
import { dispatch } from './dispatch.ts'
import { introspection } from './introspection.ts'
import { isolation } from './isolation.ts'
import { kill } from './kill.ts'
import { latency } from './latency.ts'
import { loneEvent } from './lone.ts'
import { memory } from './memory.ts'
import { minutes } from './minutes.ts'
import { nodes } from './nodes.ts'
import { overload } from './overload.ts'
import { portal } from './portal.ts'
import { processes } from './processes.ts'
import { profile } from './profile.ts'
import { publish, publishBatch, publishKeyed } from './publish.ts'
import { publishEvent } from './publish-event.ts'
import { quiet } from './quiet.ts'
import { refresh } from './refresh.ts'
import { printTable, type Result, writeResults } from './report.ts'
import { retire } from './retire.ts'
import { snapshot } from './snapshot.ts'
import { checkOut } from './source.ts'
import { openStage, type Stage } from './stage.ts'
import { start } from './start.ts'
import { statements } from './statements.ts'
import { years } from './years.ts'

const benchmarks: readonly Benchmark[] = [
  ...[profile, codeExchange, refresh, introspection],
  ...[
    publish,
    publishBatch,
    publishKeyed,
    publishEvent,
    dispatch,
    delivery,
    quiet,
    minutes,
    nodes,
    processes,
    kill,
    latency,
    isolation,
  ],
  ...[statements, loneEvent, claim, overload, portal, retire, beside, snapshot, years, start, memory],
]

const leastRows = 1_000

interface Asked extends Options {
  readonly benchmarks: readonly Benchmark[]
  readonly against: string | undefined
}

async function main(asked: Asked): Promise<void> {
  const stage = openStage()
  const results: Result[] = []
  // What was measured before one of them failed, or somebody lost patience, was measured.
  const report = () => {
    process.stdout.write(printTable(results))
    writeResults(new URL('results.json', import.meta.url), results)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      report()
      void stage.close().finally(() => process.exit(1))
    })
  }
  try {
    for (const benchmark of asked.benchmarks) {
      process.stderr.write(`${benchmark.name} …\n`)
      results.push(...(await runOne(stage, benchmark, asked).finally(() => stage.close())))
    }
  } finally {
    report()
  }
}

/** A worktree a benchmark: whatever one left in it, the next does not meet. */
async function runOne(stage: Stage, { run, openCourse }: Benchmark, { against, rows }: Asked): Promise<Result[]> {
  if (against === undefined) return run(stage, { rows })
  return runAgainst(stage, openCourse!, await checkOut(stage, against))
}

function readArguments(args: readonly string[]): Asked {
  const options = { against: { type: 'string' }, rows: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const rows = values.rows === undefined ? undefined : Number(values.rows)
  if (rows !== undefined && !(Number.isSafeInteger(rows) && rows >= leastRows))
    throw new Error(`--rows must be a whole number from ${leastRows} on, not "${values.rows}".`)
  const chosen = choose(positionals)
  if (values.against === undefined) return { benchmarks: chosen, against: undefined, rows }
  const able = chosen.filter((benchmark) => benchmark.openCourse)
  const unable = chosen.find((benchmark) => !benchmark.openCourse)
  if (positionals.length > 0 && unable)
    throw new Error(
      `--against: "${unable.name}" reads tables as they are now. These can stand beside another commit: ${benchmarks.flatMap(({ name, openCourse }) => (openCourse ? [name] : [])).join(', ')}.`,
    )
  return { benchmarks: able, against: values.against, rows }
}

function choose(names: readonly string[]): readonly Benchmark[] {
  const unknown = names.find((name) => !benchmarks.some((benchmark) => benchmark.name === name))
  if (unknown !== undefined) {
    throw new Error(
      `There is no benchmark "${unknown}". Name any of: ${benchmarks.map(({ name }) => name).join(', ')}.`,
    )
  }
  return names.length === 0 ? benchmarks : benchmarks.filter(({ name }) => names.includes(name))
}

Promise.resolve(process.argv.slice(2))
  .then(readArguments)
  .then(main)
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
