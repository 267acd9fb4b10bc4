/**
 * `npm run bench [-- NAME… [--against REF] [--rows N] [--write FILE]]`: runs the named benchmarks, or all,
 * tells how far it is and prints one table; its figures are in results.json, or in FILE, as they come. With
 * `--against`, each beside the gateway of another commit; with `--rows`, those that prepare many rows prepare
 * so many. When one failed, its row says so, and the run ends with 1.
 */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type Benchmark, type Options, runAgainst } from './benchmark.ts'
import { beside } from './beside.ts'
import { callLogOfProfiles, callLogOfTokens } from './call-log.ts'
import { claim } from './claim.ts'
import { codeExchange } from './code-exchange.ts'
import { delivery } from './delivery.ts'
import { dispatch } from './dispatch.ts'
import { exchangeDpop, exchangeKeyDpop } from './exchange-dpop.ts'
import { forwardAuth, forwardAuthAssertion, forwardAuthNginx } from './forward-auth.ts'
import { idle } from './idle.ts'
import { importing } from './import.ts'
import { introspection } from './introspection.ts'
import { isolation } from './isolation.ts'
import { kill } from './kill.ts'
import { latency } from './latency.ts'
import { loneEvent } from './lone.ts'
import { memory } from './memory.ts'
import { minutes } from './minutes.ts'
import { neighbours } from './neighbours.ts'
import { nodes } from './nodes.ts'
import { overload } from './overload.ts'
import { portal } from './portal.ts'
import { processes } from './processes.ts'
import { profile } from './profile.ts'
import { profileDpop } from './profile-dpop.ts'
import { type Item, runProgramme } from './programme.ts'
import { publish, publishBatch, publishKeyed } from './publish.ts'
import { publishEvent } from './publish-event.ts'
import { quiet } from './quiet.ts'
import { refresh } from './refresh.ts'
import { isFailure, printTable, type Row, writeResults } from './report.ts'
import { resource } from './resource.ts'
import { retire } from './retire.ts'
import { shapes } from './shapes.ts'
import { snapshot } from './snapshot.ts'
import { checkOut } from './source.ts'
import { spentProofs } from './spent-proofs.ts'
import { openStage, type Stage } from './stage.ts'
import { start } from './start.ts'
import { statements } from './statements.ts'
import { years } from './years.ts'

const benchmarks: readonly Benchmark[] = [
  ...[profile, codeExchange, refresh, introspection, resource],
  ...[callLogOfProfiles, callLogOfTokens],
  ...[exchangeDpop, exchangeKeyDpop, profileDpop, spentProofs],
  ...[forwardAuth, forwardAuthAssertion, forwardAuthNginx],
  ...[
    publish,
    publishBatch,
    publishKeyed,
    publishEvent,
    dispatch,
    delivery,
    shapes,
    quiet,
    minutes,
    nodes,
    processes,
    kill,
    latency,
    isolation,
    neighbours,
  ],
  ...[
    statements,
    loneEvent,
    idle,
    claim,
    overload,
    portal,
    retire,
    beside,
    snapshot,
    years,
    importing,
    start,
    memory,
  ],
]

const leastRows = 1_000

interface BenchmarkRun extends Options {
  readonly benchmarks: readonly Benchmark[]
  readonly against: string | undefined
  readonly resultsFile: URL
}

async function main(order: BenchmarkRun): Promise<void> {
  const stage = openStage()
  let rows: readonly Row[] = []
  // An interrupted run still reports what it has measured.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      process.stdout.write(printTable(rows))
      void stage.close().finally(() => process.exit(1))
    })
  }
  rows = await runProgramme(
    order.benchmarks.map((benchmark) => describe(stage, benchmark, order)),
    {
      durations: new URL('durations.json', import.meta.url),
      close: () => stage.close(),
      say: (line) => void process.stderr.write(`${line}\n`),
      show(soFar) {
        rows = soFar
        writeResults(order.resultsFile, soFar)
      },
    },
  )
  process.stdout.write(printTable(rows))
  if (rows.some(isFailure)) process.exitCode = 1
}

function describe(stage: Stage, benchmark: Benchmark, order: BenchmarkRun): Item {
  const { against, rows } = order
  const key = `${benchmark.name}${against === undefined ? '' : ' against'}${rows === undefined ? '' : ` rows ${rows}`}`
  return { name: benchmark.name, key, run: () => runOne(stage, benchmark, order) }
}

/** A worktree a benchmark: whatever one left in it, the next does not meet. */
async function runOne(
  stage: Stage,
  { run, openCourse }: Benchmark,
  { against, rows }: BenchmarkRun,
): Promise<Row[]> {
  if (against === undefined) return run(stage, { rows })
  return runAgainst(stage, openCourse!, await checkOut(stage, against))
}

function readArguments(args: readonly string[]): BenchmarkRun {
  const options = {
    against: { type: 'string' },
    rows: { type: 'string' },
    write: { type: 'string' },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const rows = values.rows === undefined ? undefined : Number(values.rows)
  if (rows !== undefined && !(Number.isSafeInteger(rows) && rows >= leastRows))
    throw new Error(`--rows must be a whole number from ${leastRows} on, not "${values.rows}".`)
  const resultsFile =
    values.write === undefined ? new URL('results.json', import.meta.url) : pathToFileURL(values.write)
  const chosen = choose(positionals)
  if (values.against === undefined) return { benchmarks: chosen, against: undefined, rows, resultsFile }
  const able = chosen.filter((benchmark) => benchmark.openCourse)
  const unable = chosen.find((benchmark) => !benchmark.openCourse)
  if (positionals.length > 0 && unable)
    throw new Error(
      `--against: "${unable.name}" reads tables as they are now. These can stand beside another commit: ${benchmarks.flatMap(({ name, openCourse }) => (openCourse ? [name] : [])).join(', ')}.`,
    )
  return { benchmarks: able, against: values.against, rows, resultsFile }
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
