/**
 * Benchmarks one after the other. One that fails says so in its row, and the others go on; rows are handed on
 * as they come. How long each takes on this machine is kept from run to run, so that the time left can be
 * told.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { failure, isFailure, printTable, type Row } from './report.ts'

export interface Item {
  readonly name: string
  /** What its duration is remembered by: the same benchmark with other options takes another time. */
  readonly key: string
  run(): Promise<Row[]>
}

export interface Surroundings {
  /** Where the seconds that each took are kept. */
  readonly durations: URL
  /** Clears away what an item opened, whether it ended well or not. */
  close(): Promise<void>
  /** A line of progress. */
  say(line: string): void
  /** Every row so far. */
  show(rows: readonly Row[]): void
}

export async function runProgramme(items: readonly Item[], around: Surroundings): Promise<Row[]> {
  const rows: Row[] = []
  const seconds = readSeconds(around.durations)
  const guard = openGuard()
  for (const [index, { name, key, run }] of items.entries()) {
    const place = `[${index + 1}/${items.length}] ${name}`
    around.say(`${place} … ${printTimeLeft(items.slice(index), seconds)}`)
    const startedMs = performance.now()
    const its = await guard.attempt(name, run)
    its.push(...(await guard.attempt(name, () => around.close().then(() => []))))
    const tookS = Math.round((performance.now() - startedMs) / 1000)
    rows.push(...its)
    around.show(rows)
    around.say(`${place}: ${tookS} s\n${printTable(its).trimEnd()}`)
    if (!its.some(isFailure)) writeSeconds(around.durations, Object.assign(seconds, { [key]: tookS }))
  }
  guard.close()
  return rows
}

/** An error that nobody waits for, of a socket for example, is the failure of whoever runs. */
function openGuard() {
  let disturb = (_error: unknown) => {}
  const hear = (error: unknown) => disturb(error)
  process.on('uncaughtException', hear)
  return {
    async attempt(name: string, run: () => Promise<readonly Row[]>): Promise<Row[]> {
      const { promise: disturbed, reject } = Promise.withResolvers<never>()
      disturb = reject
      try {
        return [...(await Promise.race([run(), disturbed]))]
      } catch (error) {
        return [failure(error, name)]
      }
    },
    close: () => void process.off('uncaughtException', hear),
  }
}

/** Those that never ran here count as the mean of those that did. */
function printTimeLeft(items: readonly Item[], seconds: Readonly<Record<string, number>>): string {
  const known = Object.values(seconds)
  if (known.length === 0) return 'time left: known when the first has ended'
  const mean = known.reduce((sum, each) => sum + each) / known.length
  const left = items.reduce((sum, { key }) => sum + (seconds[key] ?? mean), 0)
  return left < 90 ? `about ${Math.ceil(left)} s left` : `about ${Math.round(left / 60)} min left`
}

function readSeconds(path: URL): Record<string, number> {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

function writeSeconds(path: URL, seconds: Readonly<Record<string, number>>): void {
  writeFileSync(path, `${JSON.stringify(seconds, null, 2)}\n`)
}
