/**
 * How a webhook's receiver answered over a period, in columns of equal time. Of each column a bounded number of deliveries is looked
 * at, the first ones created in it, so that a busy webhook costs no more than a quiet one.
 */
import type { Sql } from '../database/database.ts'
import { selectStatistics } from './attempt-statistics.sql.ts'
import { arrange, type Column, type Columns, type Period, periods, startOf } from './columns.ts'
import type { Webhook } from './webhook.ts'

export const deliveriesAColumn = 100
/** More than the schedule has, and room for redeliveries. */
const attemptsADelivery = 20

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
