/** What waits for a receiver, and whose order that holds up. Of a long queue the oldest are looked at, and no more. */
import type { Sql } from '../database/database.ts'
import { selectHeldEntities } from './backlog.sql.ts'
import type { Webhook } from './webhook.ts'

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
  readonly deliveryId: number
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

type HeldRow = HeldEntity & Pick<Backlog, 'looked' | 'entities' | 'blocked'>

/** Looked at from the oldest on; more than this is not counted. */
export const lookedAtMost = 1_000

export async function readBacklog(sql: Sql, { id }: Pick<Webhook, 'id'>, most: number): Promise<Backlog> {
  const held = await sql.query<HeldRow>(selectHeldEntities, [id, lookedAtMost, most])
  const { looked, entities, blocked } = held[0] ?? { looked: 0, entities: 0, blocked: 0 }
  return { looked, entities, blocked, held }
}
