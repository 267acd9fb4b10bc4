/**
 * How many deliveries there were over a period, of all webhooks together, and how soon they were delivered. Numbers of deliveries grow
 * with time: the edges of the columns are found by halving, how many lie between two edges follows from their numbers, and of each
 * column some are looked at, spread evenly over it. A million deliveries cost no more than a thousand.
 */
import { type Sql, statement } from '../database/database.ts'
import { arrange, type Column, type Columns, edgesOfColumns, type Period, periods, startOf } from './columns.ts'

export const lookedAtAColumn = 100
/** For the figures of the whole period, spread over all of it: busy columns weigh more than quiet ones. */
export const lookedAtInAll = 1_000

/** `made` is what was created, `accepted` what of it has been delivered; both exact where everything could be looked at. */
export interface Throughput extends Columns {
  /** Whether some numbers follow from a part. */
  readonly isSampled: boolean
}

/**
 * Deliveries of one event have neighbouring numbers, in the order of their webhooks: looked at in equal steps, always the same
 * webhook might be met. Multiples of the golden section put each look elsewhere within its step.
 * Of what was sent again by hand nobody knows how soon it was delivered first.
 */
const selectThroughput = statement(
  'select_throughput',
  `${edgesOfColumns(['$1', '$2', '$3'])},
   parts AS MATERIALIZED (
     SELECT edge.place, edge.id AS first, next.id AS past, least(next.id - edge.id, $4::bigint) AS looks
     FROM edges edge JOIN edges next ON next.place = edge.place + 1
     UNION ALL
     SELECT NULL, min(id), max(id), least(max(id) - min(id), $5::bigint) FROM edges),
   looked AS MATERIALIZED (
     SELECT DISTINCT parts.place, parts.past - parts.first AS span, parts.looks, d.id, d.state, d.attempts = d.tries AS once,
       extract(epoch FROM d.settled_at - d.created_at) * 1000 AS ms
     FROM parts CROSS JOIN LATERAL generate_series(0, parts.looks - 1) AS look CROSS JOIN LATERAL (
       SELECT id, state, attempts, tries, created_at, settled_at FROM deliveries
       WHERE id >= parts.first + floor((look + (look * 0.6180339887::float8 - floor(look * 0.6180339887::float8))) * (parts.past - parts.first) / parts.looks)::bigint
         AND id < parts.past
       ORDER BY id LIMIT 1) d)
   SELECT place, span, looks, count(*) AS looked, count(*) FILTER (WHERE state = 'delivered') AS delivered,
     percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY ms::float8) FILTER (WHERE state = 'delivered' AND once) AS quantiles
   FROM looked GROUP BY place, span, looks`,
)

interface Row {
  readonly place: number | null
  readonly span: number
  readonly looks: number
  readonly looked: number
  readonly delivered: number
  readonly quantiles: readonly number[] | null
}

export async function readThroughput(sql: Sql, period: Period, now: Date): Promise<Throughput> {
  const { columns: length, columnMs } = periods[period]
  const startsAt = startOf(period, now)
  const values = [startsAt, columnMs, length, lookedAtAColumn, lookedAtInAll]
  const rows = await sql.query<Row>(selectThroughput, values)
  const arranged = arrange(rows, period, startsAt, columnOf)
  const { columns, all: whole } = arranged
  const isSampled = rows.some(isPart)
  const sum = (of: 'made' | 'accepted') => columns.reduce((total, column) => total + column[of], 0)
  const made = sum('made')
  // Of a sample, the one that is spread over the whole period says more than those of its columns together.
  const accepted = isSampled && whole.made > 0 ? Math.round((made * whole.accepted) / whole.made) : sum('accepted')
  return { ...arranged, all: { ...whole, made, accepted }, isSampled }
}

const isPart = ({ span, looks }: Row) => looks < span

function columnOf(row: Row): Column {
  const { span, looked, delivered, quantiles } = row
  const made = isPart(row) ? span : looked
  const [p50 = null, p95 = null, p99 = null] = quantiles?.map(Math.round) ?? []
  return { made, accepted: Math.round((made * delivered) / looked), p50, p95, p99 }
}
