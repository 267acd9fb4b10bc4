/** The newest deliveries of a webhook, each with how its last attempt ended. */
import type { Sql } from '../database/database.ts'
import { selectNewestDeliveries } from './deliveries.sql.ts'
import type { Attempt, Delivery } from './delivery.ts'
import type { Webhook } from './webhook.ts'

export interface DeliverySummary
  extends Pick<Delivery, 'id' | 'state' | 'entity' | 'attempts' | 'createdAt' | 'settledAt' | 'kind' | 'action'> {
  readonly outcome: Attempt['outcome'] | null
  readonly status: number | null
  readonly why: string | null
  readonly durationMs: number | null
}

export function listNewestDeliveries(sql: Sql, { id }: Webhook, most: number): Promise<DeliverySummary[]> {
  return sql.query<DeliverySummary>(selectNewestDeliveries, [id, Number.MAX_SAFE_INTEGER, most])
}
