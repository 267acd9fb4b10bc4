/**
 * How many deliveries there were over a period, of all webhooks together, and how soon they were delivered. Numbers of deliveries grow
 * with time: the edges of the columns are found by halving, how many lie between two edges follows from their numbers, and of each
 * column some are looked at, spread evenly over it. For the whole period they weigh as much as their column. A million deliveries cost no more
 * than a thousand.
 */
import { type Sql, statement } from '../database/database.ts'
import { arrange, type Column, type Columns, edgesOfColumns, type Period, periods, startOf } from './columns.ts'
import { idsADay } from './days.ts'

export const lookedAtAColumn = 100

/** `made` is what was created, `accepted` what of it has been delivered; both exact where everything could be looked at. */
export interface Throughput extends Columns {
  /** Whether some numbers follow from a part. */
  readonly isSampled: boolean
}

/**
 * Numbers have no gaps but at the end of a day, so a column that passes midnight is looked at in two pieces, each from its first delivery
 * to its last. Deliveries of one event have neighbouring numbers, in the order of their webhooks: looked at in equal steps, always the
 * same webhook might be met. Multiples of the golden section put each look elsewhere within its step. What is looked at weighs as much as
 * its piece has deliveries. Of what was sent again nobody asks how soon. The whole period has place -1.
 */
const selectThroughput = statement(
  'select_throughput',
  `${edgesOfColumns(['$1', '$2', '$3'])},
   pieces AS MATERIALIZED (
     SELECT place, first, past, past - first AS span, least(past - first, $4::bigint) AS looks FROM (
       SELECT edge.place,
         (SELECT id FROM deliveries WHERE id >= piece.low AND id < piece.high ORDER BY id LIMIT 1) AS first,
         (SELECT id FROM deliveries WHERE id >= piece.low AND id < piece.high ORDER BY id DESC LIMIT 1) + 1 AS past
       FROM edges edge JOIN edges next ON next.place = edge.place + 1 CROSS JOIN LATERAL (
         SELECT edge.id AS low, least(next.id, (edge.id / ${idsADay} + 1) * ${idsADay}) AS high
         UNION ALL SELECT next.id / ${idsADay} * ${idsADay}, next.id WHERE next.id / ${idsADay} > edge.id / ${idsADay}) piece) found
     WHERE first IS NOT NULL),
   looked AS MATERIALIZED (
     SELECT DISTINCT pieces.place, pieces.first, pieces.span, pieces.looks, d.id, d.state, d.repeats IS NULL AS once,
       extract(epoch FROM d.settled_at - d.created_at)::float8 * 1000 AS ms
     FROM pieces CROSS JOIN LATERAL generate_series(0, pieces.looks - 1) AS look CROSS JOIN LATERAL (
       SELECT id, state, repeats, created_at, settled_at FROM deliveries
       WHERE id >= pieces.first + floor((look + (look * 0.6180339887::float8 - floor(look * 0.6180339887::float8))) * pieces.span / pieces.looks)::bigint
         AND id < pieces.past
       ORDER BY id LIMIT 1) d),
   weighed AS MATERIALIZED (
     SELECT looked.*, CASE WHEN looks < span THEN span::float8 / count(*) OVER (PARTITION BY first) ELSE 1 END AS weight FROM looked),
   told AS MATERIALIZED (
     SELECT place, id, state, once, ms, weight, looks < span AS sampled FROM weighed
     UNION ALL SELECT -1, id, state, once, ms, weight, looks < span FROM weighed),
   ranked AS (
     SELECT place, ms, sum(weight) OVER (PARTITION BY place ORDER BY ms, id) / sum(weight) OVER (PARTITION BY place) + 1e-9 AS rank
     FROM told WHERE state = 'delivered' AND once),
   quantiles AS (
     SELECT place, min(ms) FILTER (WHERE rank >= 0.5) AS p50, min(ms) FILTER (WHERE rank >= 0.95) AS p95, min(ms) FILTER (WHERE rank >= 0.99) AS p99
     FROM ranked GROUP BY place),
   counts AS (
     SELECT place, sum(weight) AS made, coalesce(sum(weight) FILTER (WHERE state = 'delivered'), 0) AS accepted, bool_or(sampled) AS sampled
     FROM told GROUP BY place)
   SELECT nullif(place, -1) AS place, made, accepted, sampled, p50, p95, p99 FROM counts LEFT JOIN quantiles USING (place)`,
)

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
