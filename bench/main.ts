/** `npm run bench [-- NAME…]`: runs the named benchmarks, or all, and prints one table. */
import type { Benchmark } from './benchmark.ts'
import { codeExchange } from './code-exchange.ts'
import { introspection } from './introspection.ts'
import { profile } from './profile.ts'
import { refresh } from './refresh.ts'
import { printTable, type Result, writeResults } from './report.ts'
import { compare } from './rounds.ts'
import { openStage, type Stage } from './stage.ts'

const benchmarks: readonly Benchmark[] = [profile, codeExchange, refresh, introspection]

async function main(names: readonly string[]): Promise<void> {
  const stage = openStage()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(1)))
  }
  const results: Result[] = []
  for (const benchmark of choose(names)) results.push(...(await run(benchmark, stage)))
  process.stdout.write(printTable(results))
  writeResults(new URL('results.json', import.meta.url), results)
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

async function run({ name, unit, open }: Benchmark, stage: Stage): Promise<Result[]> {
  process.stderr.write(`${name} …\n`)
  try {
    const comparisons = await compare(await open(stage))
    return comparisons.map(({ peer: { against, goal }, ratio, ours, theirs }) => ({
      ...{ name, against, ratio, goal, ours, theirs, unit },
    }))
  } finally {
    await stage.close()
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
