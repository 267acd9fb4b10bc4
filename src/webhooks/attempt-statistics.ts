/**
 * How a webhook's receiver answered over a period, in columns of equal time. Of each column a bounded number of deliveries is looked
 * at, the first ones created in it, so that a busy webhook costs no more than a quiet one.
 */
import { after, hour, minute } from '../clock.ts'
import { type Sql, statement } from '../database/database.ts'
import type { Webhook } from './webhook.ts'

export const periods = {
  hour: { columns: 12, columnMs: 5 * minute },
  day: { columns: 24, columnMs: hour },
} as const

export type Period = keyof typeof periods

export const deliveriesAColumn = 100
/** More than the schedule has, and room for redeliveries. */
const attemptsADelivery = 20

export interface Column {
  readonly made: number
  readonly accepted: number
  /** Milliseconds within which half, 95 and 99 of a hundred answers came; null when none came. */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export interface Statistics {
  readonly startsAt: Date
  readonly columnMs: number
  readonly columns: readonly Column[]
  readonly all: Column
}

/** The edges of the columns are found by halving, all at once: ids grow with time. */
const selectStatistics = statement(
  'select_attempt_statistics',
  `WITH RECURSIVE step AS (
     SELECT place, $2::timestamptz + place * $3::float8 * interval '1 ms' AS at,
       (SELECT min(id) FROM deliveries) AS low, (SELECT max(id) FROM deliveries) + 1 AS high
     FROM generate_series(0, $4::int) AS place
     UNION ALL
     SELECT place, at, CASE WHEN probe.created_at < at THEN probe.id + 1 ELSE low END,
       CASE WHEN probe.created_at < at THEN high ELSE (low + high) / 2 END
     FROM step CROSS JOIN LATERAL (
       SELECT id, created_at FROM deliveries WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1) probe
     WHERE low < high),
   edges AS MATERIALIZED (SELECT place, low AS id FROM step WHERE low >= high),
   sampled AS MATERIALIZED (
     SELECT edge.place, d.id FROM edges edge JOIN edges next ON next.place = edge.place + 1 CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE (webhook_id, id) >= ($1, edge.id) AND (webhook_id, id) < ($1, next.id)
       ORDER BY webhook_id, id LIMIT $5) d)
   SELECT sampled.place, count(*) AS made, count(*) FILTER (WHERE a.outcome = 'accepted') AS accepted,
     percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY a.duration_ms) FILTER (WHERE a.outcome <> 'unreachable') AS quantiles
   FROM sampled CROSS JOIN LATERAL (
     SELECT outcome, duration_ms FROM attempts WHERE delivery_id = sampled.id ORDER BY number LIMIT $6) a
   GROUP BY GROUPING SETS ((sampled.place), ())`,
)

interface Row {
  readonly place: number | null
  readonly made: number
  readonly accepted: number
  readonly quantiles: readonly number[] | null
}

const none: Column = { made: 0, accepted: 0, p50: null, p95: null, p99: null }

export async function readStatistics(sql: Sql, { id }: Webhook, period: Period, now: Date): Promise<Statistics> {
  const { columns, columnMs } = periods[period]
  // What is created at this very moment belongs to the last column.
  const startsAt = after(now, 1 - columns * columnMs)
  const values = [id, startsAt, columnMs, columns, deliveriesAColumn, attemptsADelivery]
  const rows = await sql.query<Row>(selectStatistics, values)
  const at = (place: number | null) => {
    const row = rows.find((each) => each.place === place)
    return row ? columnOf(row) : none
  }
  return { startsAt, columnMs, columns: Array.from({ length: columns }, (_, place) => at(place)), all: at(null) }
}

function columnOf({ made, accepted, quantiles }: Row): Column {
  const [p50 = null, p95 = null, p99 = null] = quantiles ?? []
  return { made, accepted, p50, p95, p99 }
}
