/** One event for one webhook: what became of it, attempt by attempt, and how to set it going again. */
import { type Actor, recordAct } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict, NotFound } from '../problem.ts'
import * as table from './deliveries.sql.ts'
import type { Kind } from './kind.ts'
import type { Branch } from './webhook.ts'

export const deliveryStates = ['blocked', 'waiting', 'delivered', 'exhausted', 'canceled'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export interface Delivery {
  readonly id: number
  readonly webhook_id: number
  readonly state: DeliveryState
  readonly entity: string
  readonly due_at: Date
  readonly attempts: number
  readonly created_at: Date
  readonly settled_at: Date | null
  readonly uid: string
  readonly kind: Kind
  readonly action: string
}

export interface Attempt {
  readonly number: number
  readonly at: Date
  readonly duration_ms: number
  readonly outcome: 'accepted' | 'refused' | 'unreachable'
  readonly status: number | null
  readonly why: string | null
  readonly response: string | null
}

export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined
  readonly kind?: Kind | undefined
  readonly entity?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

export async function getDelivery(
  sql: Sql,
  { branchId, environment }: Branch,
  id: number,
): Promise<Delivery & { readonly body: string }> {
  const [delivery] = await sql.query<Delivery & { body: string }>(table.selectDelivery, [id, branchId, environment])
  if (!delivery) throw new NotFound(`This branch has no delivery ${id}.`)
  return delivery
}

export function listAttempts(sql: Sql, deliveryId: number): Promise<Attempt[]> {
  return sql.query<Attempt>(table.selectAttempts, [deliveryId])
}

export async function redeliver(db: Database, { id, webhook_id }: Delivery, by: Actor, now: Date): Promise<void> {
  await db.transaction(async (sql) => {
    const [again] = await redeliverAll(sql, [id], now)
    if (!again) throw new Conflict('This delivery waits for an earlier one of the same entity. Redeliver that one.')
    await recordAct(sql, by, 'webhook.redelivered', `webhook:${webhook_id}`, now, { deliveryId: id })
  })
}

/** In a transaction: what has to be waited for is held still first. Answers those that go again. */
export async function redeliverAll(sql: Sql, ids: readonly number[], now: Date): Promise<{ id: number }[]> {
  await sql.query(table.lockEntities, [ids])
  return sql.query<{ id: number }>(table.redeliver, [ids, now])
}

export interface EventDelivery {
  readonly id: number
  readonly webhook_id: number
  readonly state: DeliveryState
  readonly attempts: number
  readonly url: string
  readonly last_attempt: Omit<Attempt, 'at' | 'response'> | null
}

export function listDeliveriesOfEvent(sql: Sql, eventId: number): Promise<EventDelivery[]> {
  return sql.query<EventDelivery>(table.selectDeliveriesOfEvent, [eventId])
}

/** Whether the dispatcher still has to create the deliveries of an event. */
export async function isInboxed(sql: Sql, eventId: number): Promise<boolean> {
  return (await sql.query(table.selectInboxed, [eventId])).length > 0
}

/** An event of the branch, with what tells it apart. */
export async function findEvent(
  sql: Sql,
  { branchId, environment }: Branch,
  id: number,
): Promise<Pick<Delivery, 'uid' | 'kind' | 'action'> | undefined> {
  const [event] = await sql.query<Pick<Delivery, 'uid' | 'kind' | 'action'>>(table.selectEvent, [
    ...[id, branchId, environment],
  ])
  return event
}
