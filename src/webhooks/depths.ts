/** How much there is of what waits. Only what is unfinished, or was given up, is counted; what is kept back on purpose is not overdue. */
import type { Database } from '../database/database.ts'
import { selectDepths, selectOldest } from './depths.sql.ts'
import { breakerThreshold } from './lane.ts'

export interface Depths {
  readonly inbox: number
  /** For their moment; those that wait behind another are blocked. */
  readonly waiting: number
  readonly blocked: number
  readonly exhausted: number
  readonly overdueSeconds: number
  readonly lanesHeld: number
  readonly breakersOpen: number
  readonly webhooksDisabled: number
}

export function allThatWait({ waiting, blocked }: Pick<Depths, 'waiting' | 'blocked'>): number {
  return waiting + blocked
}

export async function readDepths(db: Database, now: Date): Promise<Depths> {
  const [depths] = await db.query<Depths>(selectDepths, [now, breakerThreshold])
  return depths!
}

export interface Oldest {
  /** Of the first event that has no deliveries yet. */
  readonly publishedAt: Date | null
  /** Of the first delivery that a worker should have taken. */
  readonly dueAt: Date | null
}

export async function readOldest(db: Database, now: Date): Promise<Oldest> {
  const [oldest] = await db.query<Oldest>(selectOldest, [now, breakerThreshold])
  return oldest!
}
