/** One event for one webhook: what became of it, attempt by attempt, and how to set it going again. */
import { setTimeout as wait } from 'node:timers/promises'
import { type Act, recordAct } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict, NotFound } from '../problem.ts'
import { dayOfId } from './days.ts'
import * as table from './deliveries.sql.ts'
import { type DispatchDesk, dispatchPart } from './dispatch.ts'
import type { Kind } from './kind.ts'
import { partOf, writeToPart } from './part.ts'
import type { Branch, Webhook } from './webhook.ts'

export const deliveryStates = ['blocked', 'waiting', 'delivered', 'exhausted', 'canceled', 'expired'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export interface Delivery {
  readonly id: number
  readonly webhookId: number
  readonly eventId: number
  readonly state: DeliveryState
  readonly entity: string
  /** Of one that waits. */
  readonly dueAt: Date
  readonly attempts: number
  readonly createdAt: Date
  readonly settledAt: Date | null
  /** The delivery that this one sends again. */
  readonly repeats: number | null
  /** Of one that was canceled: why, and who did it. Null where nobody wrote it down. */
  readonly reason: string | null
  readonly canceledBy: string | null
  readonly uid: string
  readonly kind: Kind
  readonly action: string
}

export interface DeliveryWithBody extends Delivery {
  readonly body: string
  /** Of a test hook. */
  readonly simulated: boolean
}

export interface Attempt {
  readonly number: number
  readonly at: Date
  readonly durationMs: number
  readonly outcome: 'accepted' | 'refused' | 'unreachable'
  readonly status: number | null
  readonly why: string | null
  /** Of a failure: who answered, a header a line; or the error that the word stands for. */
  readonly detail: string | null
  readonly response: string | null
}

/** `unfinished`: everything that waits, for its moment or behind another. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | 'unfinished' | undefined
  readonly kind?: Kind | undefined
  readonly entity?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

export async function getDelivery(sql: Sql, { branchId, environment }: Branch, id: number): Promise<DeliveryWithBody> {
  const [delivery] = await sql.query<DeliveryWithBody>(table.selectDelivery, [id, branchId, environment])
  if (!delivery) throw new NotFound(`This branch has no delivery ${id}.`)
  return delivery
}

export function listAttempts(sql: Sql, deliveryId: number): Promise<Attempt[]> {
  return sql.query<Attempt>(table.selectAttempts, [deliveryId, dayOfId(deliveryId)])
}

/**
 * A delivery that has ended stays as it is: sending again is a new delivery of the same event, which the dispatcher creates. One that waits for
 * its next attempt is tried at once. Answers the number of the one that goes out.
 */
export async function redeliver(desk: DispatchDesk, branchId: number, delivery: Delivery, act: Act): Promise<number> {
  await askForRedelivery(desk.db, branchId, delivery, act)
  return findRedelivery(desk, branchId, delivery)
}

export async function askForRedelivery(db: Database, branchId: number, delivery: Delivery, act: Act): Promise<void> {
  if (delivery.state === 'blocked')
    throw new Conflict('This delivery waits for an earlier one of the same entity. Redeliver that one.')
  await writeToPart(db, partOf(branchId), (sql) => sendAgain(sql, delivery, act))
}

/** What was asked for is committed: the one that goes out, or the one that it repeats where the dispatcher has not come to it yet. */
export async function findRedelivery(desk: DispatchDesk, branchId: number, delivery: Delivery): Promise<number> {
  await dispatchPart(desk, partOf(branchId))
  return (await findRepeat(desk.db, delivery)) ?? delivery.id
}

const workerPatienceMs = 2_000
const lookAgainMs = 50

/** For whoever is no node: a worker makes it, by its own clock. Answers the one that it repeats where none has come to it within a moment. */
export async function redeliverByWorker(db: Database, branchId: number, delivery: Delivery, act: Act): Promise<number> {
  const before = await findRepeat(db, delivery)
  await askForRedelivery(db, branchId, delivery, act)
  const giveUpAt = performance.now() + workerPatienceMs
  while (delivery.state !== 'waiting' && performance.now() < giveUpAt) {
    const repeat = await findRepeat(db, delivery)
    if (repeat !== undefined && repeat !== before) return repeat
    await wait(lookAgainMs)
  }
  return delivery.id
}

async function findRepeat(sql: Sql, delivery: Delivery): Promise<number | undefined> {
  const values = [delivery.webhookId, delivery.entity, delivery.id, delivery.eventId]
  const [repeat] = await sql.query<{ id: number | null }>(table.selectRepeat, values)
  return repeat?.id ?? undefined
}

async function sendAgain(sql: Sql, { id, webhookId, state }: Delivery, act: Act): Promise<void> {
  const [pulled] = state === 'waiting' ? await sql.query(table.pullForward, [id, act.at]) : []
  const [asked] = pulled ? [] : await sql.query(table.requestRepeats, [[id], null])
  if (!pulled && !asked)
    throw new Conflict('This delivery cannot be sent again: its event has left, or its webhook is deleted.')
  await recordAct(sql, act, 'webhook.redelivered', `webhook:${webhookId}`, { deliveryId: id })
}

export interface EventDelivery {
  readonly id: number
  readonly webhookId: number
  readonly state: DeliveryState
  readonly attempts: number
  readonly url: string
  readonly webhookState: Webhook['state']
  readonly lastAttempt: Omit<Attempt, 'at' | 'response'> | null
}

export function listDeliveriesOfEvent(sql: Sql, eventId: number): Promise<EventDelivery[]> {
  return sql.query<EventDelivery>(table.selectDeliveriesOfEvent, [eventId])
}

/** What goes before a delivery that is blocked. */
export interface Ahead {
  readonly aheadId: number
  readonly attempts: number
  readonly dueAt: Date
}

/** By the deliveries that wait; those that wait for nothing are not among them. */
export async function findAhead(
  sql: Sql,
  deliveries: readonly Pick<Delivery, 'id' | 'state'>[],
): Promise<ReadonlyMap<number, Ahead>> {
  const blocked = deliveries.filter(({ state }) => state === 'blocked').map(({ id }) => id)
  if (blocked.length === 0) return new Map()
  const rows = await sql.query<Ahead & { id: number }>(table.selectAhead, [blocked])
  return new Map(rows.map((row) => [row.id, row]))
}

/** `webhookId`: of a test event that is for one webhook alone. */
export interface FoundEvent extends Pick<Delivery, 'uid' | 'kind' | 'action'> {
  readonly webhookId: number | null
}

/** An event of the branch, with what tells it apart. */
export async function findEvent(
  sql: Sql,
  { branchId, environment }: Branch,
  id: number,
): Promise<FoundEvent | undefined> {
  const [event] = await sql.query<FoundEvent>(table.selectEvent, [id, branchId, environment])
  return event
}
