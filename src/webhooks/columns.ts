/** A period in columns of equal time, for charts of deliveries. */
import { after, hour, minute } from '../clock.ts'

export const periods = {
  hour: { columns: 12, columnMs: 5 * minute },
  day: { columns: 24, columnMs: hour },
} as const

export type Period = keyof typeof periods

export interface Column {
  readonly made: number
  readonly accepted: number
  /** Milliseconds within which half, 95 and 99 of a hundred answers came; null when none came. */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export interface Columns {
  readonly startsAt: Date
  readonly columnMs: number
  readonly columns: readonly Column[]
  readonly all: Column
}

const none: Column = { made: 0, accepted: 0, p50: null, p95: null, p99: null }

/** What is created at this very moment belongs to the last column. */
export function startOf(period: Period, now: Date): Date {
  const { columns, columnMs } = periods[period]
  return after(now, 1 - columns * columnMs)
}

/** From rows with the place of their column, and one without for the whole period; where there is none, nothing was made. */
export function arrange<Row extends { readonly place: number | null }>(
  rows: readonly Row[],
  period: Period,
  startsAt: Date,
  columnOf: (row: Row) => Column,
): Columns {
  const { columns: length, columnMs } = periods[period]
  const at = (place: number | null) => {
    const row = rows.find((each) => each.place === place)
    return row ? columnOf(row) : none
  }
  return { startsAt, columnMs, columns: Array.from({ length }, (_, place) => at(place)), all: at(null) }
}
