/**
 * What waits for a receiver, and whose order that holds up. Of a long queue the oldest are looked at, and no
 * more.
 */
import type { Sql } from '../../database/database.ts'
import { printDeliveryId } from '../engine/delivery-id.ts'
import { partOf } from '../events/part.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectHeldEntities } from './backlog.sql.ts'

/** An entity whose deliveries wait: they go out in their order, one after the other. */
interface HeldEntity {
  readonly entity: string
  readonly waiting: number
  /** Those that wait for the first of them. */
  readonly behind: number
  readonly since: Date
  /** Of the one that goes first, so far. */
  readonly attempts: number
  /** The one that goes first. */
  readonly deliveryId: string
}

export interface Backlog {
  /** Of these the oldest, at most so many. */
  readonly looked: number
  readonly entities: number
  /** How many wait behind another of their entity. */
  readonly blocked: number
  /** Those with most behind them first. */
  readonly held: readonly HeldEntity[]
}

/** Looked at from the oldest on; more than this is not counted. */
export const lookedAtMost = 1_000

export async function readBacklog(
  sql: Sql,
  { id, branchId }: Pick<Webhook, 'id' | 'branchId'>,
  most: number,
): Promise<Backlog> {
  const rows = await sql.query(selectHeldEntities, {
    part: partOf(branchId),
    webhookId: id,
    most: lookedAtMost,
    entitiesAtMost: most,
  })
  const { looked = 0, entities = 0, blocked = 0 } = rows[0] ?? {}
  const held = rows.map(({ seq, entity, waiting, behind, since, attempts }) => {
    const deliveryId = printDeliveryId({ webhookId: id, seq, round: 0 })
    return { entity, waiting, behind, since, attempts, deliveryId }
  })
  return { looked: Number(looked), entities, blocked: Number(blocked), held }
}
