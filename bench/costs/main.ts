/**
 * `node bench/costs/main.ts [--write FILE]`: what each kind of work costs on this machine, in processor time
 * and in bytes of PostgreSQL's log. Takes six minutes, uses loopback alone and stops by itself. Linux only:
 * it reads /proc.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { migrate } from '../../src/database/migrations.ts'
import { openStage } from '../stage.ts'
import { type Costs, measureAnswering } from './answering.ts'
import { type Commits, measureCommits } from './committing.ts'
import { measureDelivering } from './delivering.ts'
import { openHouse } from './house.ts'
import type { Cost } from './meter.ts'
import { measureStored } from './storing.ts'

/** No checkpoint comes in between: page images would make one round dearer than the next. */
const preparations = [
  'CREATE EXTENSION pg_walinspect',
  "ALTER SYSTEM SET max_wal_size = '16GB'",
  "ALTER SYSTEM SET checkpoint_timeout = '1h'",
  'SELECT pg_reload_conf()',
]

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { write: { type: 'string' } } })
  const stage = openStage()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(1)))
  }
  try {
    const house = await openHouse(stage)
    await migrate(house.db)
    for (const script of preparations) await house.db.script(script)
    const commits = await measureCommits(house.db)
    const costs: Costs = {}
    for (const measure of [measureAnswering, measureDelivering]) {
      Object.assign(costs, await measure(house))
      // What takes minutes is not lost when something fails later.
      if (values.write !== undefined) write(values.write, costs, commits, {})
    }
    const stored = await measureStored(house.db)
    process.stdout.write(printCosts(costs, commits) + printStored(stored))
    if (values.write !== undefined) write(values.write, costs, commits, stored)
  } finally {
    await stage.close()
  }
}

function write(path: string, costs: Costs, commits: Commits, stored: Record<string, number>): void {
  writeFileSync(path, `${JSON.stringify(roundAll(costs, commits, stored), null, 2)}\n`)
}

const columns: readonly [string, (cost: Cost) => number][] = [
  ['node µs', (cost) => cost.mainThreadUs],
  ['its other threads', (cost) => cost.otherThreadsUs],
  ['PostgreSQL µs', (cost) => cost.postgresUs],
  ['beside µs', (cost) => cost.besideUs],
  ['log bytes', (cost) => cost.logBytes],
  ['of them images', (cost) => cost.imageBytes],
  ['rows in', (cost) => cost.rowsInserted],
  ['changed', (cost) => cost.rowsChanged],
  ['index entries', (cost) => cost.indexEntries],
  ['commits', (cost) => cost.commits],
]

function printCosts(costs: Costs, { commitMs, commitsPerSecond, notifiedCommitsPerSecond }: Commits): string {
  const rows = [
    ['one', ...columns.map(([title]) => title)],
    ...Object.entries(costs).map(([name, cost]) => [name, ...columns.map(([, read]) => print(read(cost)))]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}

a commit waits ${print(commitMs)} ms; ten connections commit ${print(commitsPerSecond)} times a second, ${print(notifiedCommitsPerSecond)} with a notification
`
}

function printStored(stored: Record<string, number>): string {
  const each = Object.entries(stored).map(([table, bytes]) => `${table} ${print(bytes)}`)
  return `bytes stored a row, with its index entries: ${each.join(', ')}\n`
}

function print(value: number): string {
  return round(value).toLocaleString('en')
}

function roundAll(costs: Costs, commits: Commits, stored: Record<string, number>): object {
  const rounded = (figures: object) =>
    Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value as number)]))
  const works = Object.entries(costs).map(([name, cost]) => [name, rounded(cost)])
  return { works: Object.fromEntries(works), commits: rounded(commits), storedBytes: rounded(stored) }
}

/** Three digits are more than a noisy machine knows. */
function round(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(value < 0.1 ? 1 : 3))
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
