/**
 * How many deliveries there were over a period, of all webhooks together, and how soon they were delivered. Numbers of deliveries grow
 * with time: the edges of the columns are found by halving, how many lie between two edges follows from their numbers, and of each
 * column some are looked at, spread evenly over it. For the whole period they weigh as much as their column. A million deliveries cost no more
 * than a thousand.
 */
import type { Sql } from '../database/database.ts'
import { arrange, type Column, type Columns, type Period, periods, startOf } from './columns.ts'
import { selectThroughput } from './delivery-statistics.sql.ts'

export const lookedAtAColumn = 100

/** `made` is what was created, `accepted` what of it has been delivered; both exact where everything could be looked at. */
export interface Throughput extends Columns {
  /** Whether some numbers follow from a part. */
  readonly isSampled: boolean
}

interface Row extends Column {
  readonly place: number | null
  readonly sampled: boolean
}

export async function readThroughput(sql: Sql, period: Period, now: Date): Promise<Throughput> {
  const { columns: length, columnMs } = periods[period]
  const startsAt = startOf(period, now)
  const rows = await sql.query<Row>(selectThroughput, [startsAt, columnMs, length, lookedAtAColumn])
  return { ...arrange(rows, period, startsAt, columnOf), isSampled: rows.some((row) => row.sampled) }
}

function columnOf({ made, accepted, p50, p95, p99 }: Row): Column {
  const round = (ms: number | null) => (ms === null ? null : Math.round(ms))
  return { made: Math.round(made), accepted: Math.round(accepted), p50: round(p50), p95: round(p95), p99: round(p99) }
}
