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

/**
 * A recursive part of a statement: `step` ends with the first id since a moment, for each row of `moments` (place, at). An id carries its
 * day and grows within it, so each is found by halving what the day can hold of the numbers that were given, all at once.
 */
export function halvingOfDay(moments: string): string {
  return `step AS (
     SELECT place, at, first AS low, coalesce(least(first + 10000000000, delivery_offset + last_value + 1), first) AS high, first + 10000000000 AS past
     FROM (${moments}) moments CROSS JOIN LATERAL (SELECT day_of(at) AS day, day_of(at) * 10000000000 AS first) of_day
     CROSS JOIN delivery_numbers LEFT JOIN days USING (day)
     UNION ALL
     SELECT place, at, CASE WHEN probe.created_at < at THEN probe.id + 1 ELSE low END,
       CASE WHEN probe.created_at < at THEN high ELSE (low + high) / 2 END, past
     FROM step LEFT JOIN LATERAL (
       SELECT id, created_at FROM deliveries WHERE id >= (low + high) / 2 AND id < past ORDER BY id LIMIT 1) probe ON true
     WHERE low < high)`
}

/**
 * The beginning of a statement: `edges` has the first id of each column, and the one past the last. The parameters are the start, a
 * column's milliseconds and the number of columns.
 */
export function edgesOfColumns([startsAt, columnMs, columns]: readonly [string, string, string]): string {
  const moments = `SELECT place, ${startsAt}::timestamptz + place * ${columnMs}::float8 * interval '1 ms' AS at
       FROM generate_series(0, ${columns}::int) AS place`
  return `WITH RECURSIVE ${halvingOfDay(moments)},
   edges AS MATERIALIZED (SELECT place, low AS id FROM step WHERE low >= high)`
}
