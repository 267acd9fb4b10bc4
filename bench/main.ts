/** `npm run bench [-- NAME…]`: runs the named benchmarks, or all, and prints one table. */
import type { Benchmark } from './benchmark.ts'
import { claim } from './claim.ts'
import { codeExchange } from './code-exchange.ts'
import { delivery } from './delivery.ts'
import { introspection } from './introspection.ts'
import { isolation } from './isolation.ts'
import { latency } from './latency.ts'
import { overload } from './overload.ts'
import { portal } from './portal.ts'
import { profile } from './profile.ts'
import { publish, publishBatch } from './publish.ts'
import { refresh } from './refresh.ts'
import { printTable, type Result, writeResults } from './report.ts'
import { openStage } from './stage.ts'
import { statements } from './statements.ts'

const benchmarks: readonly Benchmark[] = [
  ...[profile, codeExchange, refresh, introspection],
  ...[publish, publishBatch, delivery, latency, isolation, statements, claim, overload, portal],
]

async function main(names: readonly string[]): Promise<void> {
  const stage = openStage()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(1)))
  }
  const results: Result[] = []
  for (const benchmark of choose(names)) {
    process.stderr.write(`${benchmark.name} …\n`)
    try {
      results.push(...(await benchmark.run(stage)))
    } finally {
      await stage.close()
    }
  }
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

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
