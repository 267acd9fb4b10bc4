/** The newest deliveries of a webhook, each with how its last attempt ended. */
import type { Sql } from '../../database/database.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { type Attempt, type Delivery, findLastAttempts } from './delivery.ts'
import { searchDeliveries } from './delivery-search.ts'

export interface DeliverySummary extends Delivery {
  readonly outcome: Attempt['outcome'] | null
  readonly status: number | null
  readonly why: string | null
  readonly durationMs: number | null
}

const none = { outcome: null, status: null, why: null, durationMs: null }

export async function listNewestDeliveries(
  sql: Sql,
  webhook: Webhook,
  most: number,
): Promise<DeliverySummary[]> {
  const { deliveries } = await searchDeliveries(sql, [webhook], {}, undefined, most)
  const attempts = await findLastAttempts(sql, webhook, deliveries)
  return deliveries.map((delivery) => {
    const { outcome, status, why, durationMs } = attempts.get(delivery.id) ?? none
    return { ...delivery, outcome, status, why, durationMs }
  })
}
