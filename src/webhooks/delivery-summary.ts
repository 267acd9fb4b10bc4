/** The newest deliveries of a webhook, each with how its last attempt ended. */
import { type Sql, statement } from '../database/database.ts'
import type { Attempt, Delivery } from './delivery.ts'
import type { Webhook } from './webhook.ts'

export interface DeliverySummary
  extends Pick<Delivery, 'id' | 'state' | 'entity' | 'attempts' | 'created_at' | 'settled_at' | 'kind' | 'action'> {
  readonly outcome: Attempt['outcome'] | null
  readonly status: number | null
  readonly why: string | null
  readonly duration_ms: number | null
}

/** Compared as pairs: see delivery-search.sql.ts. */
const selectNewest = statement(
  'select_newest_deliveries',
  `SELECT d.id, d.state, d.entity, d.attempts, d.created_at, d.settled_at, e.kind, e.action, a.outcome, a.status, a.why, a.duration_ms
   FROM (
     SELECT id, event_id, state, entity, attempts, created_at, settled_at FROM deliveries
     WHERE (owner_id, place) >= ($1, 0) AND (owner_id, place) < ($1, $2) ORDER BY owner_id DESC, place DESC LIMIT $3) d
   CROSS JOIN LATERAL (SELECT kind, action FROM events WHERE id = d.event_id OFFSET 0) e
   LEFT JOIN LATERAL (
     SELECT outcome, status, why, duration_ms FROM attempts WHERE delivery_id = d.id AND day >= d.id / 10000000000 ORDER BY number DESC LIMIT 1) a ON true
   ORDER BY d.id DESC`,
)

export function listNewestDeliveries(sql: Sql, { id }: Webhook, most: number): Promise<DeliverySummary[]> {
  return sql.query<DeliverySummary>(selectNewest, [id, Number.MAX_SAFE_INTEGER, most])
}
