/** The one table that a run prints, and the same figures for programs. */
import { writeFileSync } from 'node:fs'

export interface Result {
  readonly name: string
  readonly against: string
  readonly ratio: number
  readonly goal: number
  readonly ours: number
  readonly theirs: number
  readonly unit: string
}

const columns = ['Benchmark', 'Beside', 'Ratio', 'Goal', 'Reached', 'Ours', 'Theirs', 'Unit'] as const

export function printTable(results: readonly Result[]): string {
  const rows = [columns, ...results.map(printRow)]
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

function printRow({ name, against, ratio, goal, ours, theirs, unit }: Result): string[] {
  const figures = [ours, theirs].map((figure) => Math.round(figure).toLocaleString('en'))
  return [name, against, ratio.toFixed(2), `>= ${goal}`, ratio >= goal ? 'yes' : 'no', ...figures, unit]
}

export function writeResults(path: URL, results: readonly Result[]): void {
  const rounded = results.map((result) => ({
    ...result,
    ratio: Math.round(result.ratio * 100) / 100,
    ours: Math.round(result.ours),
    theirs: Math.round(result.theirs),
  }))
  writeFileSync(path, `${JSON.stringify(rounded, null, 2)}\n`)
}
