/**
 * How a webhook's receiver answered over a period, in columns of equal time. Of each column a bounded number of deliveries is looked
 * at, the first ones created in it, so that a busy webhook costs no more than a quiet one.
 */
import { type Sql, statement } from '../database/database.ts'
import { arrange, type Column, type Columns, edgesOfColumns, type Period, periods, startOf } from './columns.ts'
import type { Webhook } from './webhook.ts'

export const deliveriesAColumn = 100
/** More than the schedule has, and room for redeliveries. */
const attemptsADelivery = 20

const selectStatistics = statement(
  'select_attempt_statistics',
  `${edgesOfColumns(['$2', '$3', '$4'])},
   sampled AS MATERIALIZED (
     SELECT edge.place, d.id FROM edges edge JOIN edges next ON next.place = edge.place + 1 CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE (owner_id, place) >= ($1, edge.id) AND (owner_id, place) < ($1, next.id)
       ORDER BY owner_id, place LIMIT $5) d)
   SELECT sampled.place, count(*) AS made, count(*) FILTER (WHERE a.outcome = 'accepted') AS accepted,
     percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY a.duration_ms) FILTER (WHERE a.outcome <> 'unreachable') AS quantiles
   FROM sampled CROSS JOIN LATERAL (
     SELECT outcome, duration_ms FROM attempts WHERE delivery_id = sampled.id AND day >= sampled.id / 10000000000 ORDER BY number LIMIT $6) a
   GROUP BY GROUPING SETS ((sampled.place), ())`,
)

interface Row {
  readonly place: number | null
  readonly made: number
  readonly accepted: number
  readonly quantiles: readonly number[] | null
}

export async function readStatistics(sql: Sql, { id }: Webhook, period: Period, now: Date): Promise<Columns> {
  const { columns, columnMs } = periods[period]
  const startsAt = startOf(period, now)
  const values = [id, startsAt, columnMs, columns, deliveriesAColumn, attemptsADelivery]
  return arrange(await sql.query<Row>(selectStatistics, values), period, startsAt, columnOf)
}

function columnOf({ made, accepted, quantiles }: Row): Column {
  const [p50 = null, p95 = null, p99 = null] = quantiles ?? []
  return { made, accepted, p50, p95, p99 }
}
