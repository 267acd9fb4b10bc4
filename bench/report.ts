/** The one table that a run prints, and the same figures for programs. */
import { writeFileSync } from 'node:fs'

export interface Result {
  readonly name: string
  readonly against: string
  /** Ours by theirs. */
  readonly ratio: number
  readonly goal: number
  /** The ratio must not be more than the goal; otherwise not less. */
  readonly atMost?: boolean
  readonly ours: number
  readonly theirs: number
  readonly unit: string
}

/** A figure that has a limit instead of a peer. */
export function withinLimit(name: string, ours: number, limit: number, unit: string): Result {
  return { name, against: 'the limit', ratio: ours / limit, goal: 1, atMost: true, ours, theirs: limit, unit }
}

const columns = ['Benchmark', 'Beside', 'Ratio', 'Goal', 'Reached', 'Ours', 'Theirs', 'Unit'] as const

export function printTable(results: readonly Result[]): string {
  const rows = [columns, ...results.map(printRow)]
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

function printRow({ name, against, ratio, goal, atMost, ours, theirs, unit }: Result): string[] {
  const figures = [ours, theirs].map((figure) => round(figure).toLocaleString('en'))
  const isReached = atMost ? ratio <= goal : ratio >= goal
  return [
    name,
    against,
    ratio.toFixed(2),
    `${atMost ? '<=' : '>='} ${goal}`,
    isReached ? 'yes' : 'no',
    ...figures,
    unit,
  ]
}

export function writeResults(path: URL, results: readonly Result[]): void {
  const rounded = results.map((result) => ({
    ...result,
    ratio: round(result.ratio),
    ours: round(result.ours),
    theirs: round(result.theirs),
  }))
  writeFileSync(path, `${JSON.stringify(rounded, null, 2)}\n`)
}

/** Three digits say what a benchmark knows. */
function round(figure: number): number {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3))
}
