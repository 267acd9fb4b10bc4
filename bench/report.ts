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

/** What stands in the place of figures that a benchmark, or a peer of it, did not give. */
export interface Failure {
  readonly name: string
  readonly against?: string
  readonly failed: string
}

export type Row = Result | Failure

export function isFailure(row: Row): row is Failure {
  return 'failed' in row
}

const longestReason = 200

/** One line of it: servers are talkative when they fail. */
export function failure(error: unknown, name: string, against?: string): Failure {
  const reason = error instanceof Error ? error.message : String(error)
  return {
    name,
    ...(against !== undefined && { against }),
    failed: reason.trim().split(/\s*\n/)[0]!.slice(0, longestReason),
  }
}

/** A figure that has a limit instead of a peer. */
export function withinLimit(name: string, ours: number, limit: number, unit: string): Result {
  return { name, against: 'the limit', ratio: ours / limit, goal: 1, atMost: true, ours, theirs: limit, unit }
}

const columns = ['Benchmark', 'Beside', 'Ratio', 'Goal', 'Reached', 'Ours', 'Theirs', 'Unit'] as const

export function printTable(results: readonly Row[]): string {
  const rows = [columns, ...results.map(printRow)]
  // A reason is the last cell of its row, and makes no column wide.
  const widths = columns.map((_, column) =>
    Math.max(...rows.map((row) => row.slice(0, -1)[column]?.length ?? 0)),
  )
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

function printRow(row: Row): string[] {
  return isFailure(row) ? [row.name, row.against ?? '', `failed: ${row.failed}`] : printResult(row)
}

function printResult({ name, against, ratio, goal, atMost, ours, theirs, unit }: Result): string[] {
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

export function writeResults(path: URL, rows: readonly Row[]): void {
  writeFileSync(path, `${JSON.stringify(rows.map(roundFigures), null, 2)}\n`)
}

function roundFigures(row: Row): Row {
  if (isFailure(row)) return row
  return { ...row, ratio: round(row.ratio), ours: round(row.ours), theirs: round(row.theirs) }
}

/** Three digits say what a benchmark knows. */
function round(figure: number): number {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3))
}
