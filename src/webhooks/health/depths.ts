/**
 * How much there is of what waits. Only what is unfinished, or was given up, is counted; what is kept back on
 * purpose is not overdue.
 */
import type { Database, Sql } from '../../database/database.ts'
import { keysOf } from '../../vocabulary/record-of.ts'
import { exceptionsAtMost } from '../engine/lane.ts'
import { allParts } from '../events/part.ts'
import { type Condition, isBreakerOpen } from './condition.ts'
import * as table from './depths.sql.ts'
import { countLanes } from './lane-health.ts'
import { type LaneState, type LaneStates, readLaneStates } from './lane-state.ts'
import { countedAtMost } from './webhook-health.ts'

export interface Depths {
  readonly inbox: number
  /**
   * For their moment; those that wait behind another are blocked. Of each webhook so many are counted and no
   * more.
   */
  readonly waiting: number
  readonly blocked: number
  readonly exhausted: number
  readonly overdueSeconds: number
  readonly lanesHeld: number
  /** Those with as many failing entities as a lane may have: they begin nothing new. */
  readonly lanesFull: number
  /** How many webhooks are how. */
  readonly webhooks: ReadonlyMap<Condition, number>
}

export function allThatWait({ waiting, blocked }: Pick<Depths, 'waiting' | 'blocked'>): number {
  return waiting + blocked
}

export async function readDepths(
  db: Database,
  now: Date,
  reading: Promise<LaneStates> = readLaneStates(db, now),
): Promise<Depths> {
  const [sums, states] = await Promise.all([sumParts(db), reading])
  const overdueAt = firstOf([...states.values()].map(({ lateSince }) => lateSince))
  const overdueSeconds = overdueAt ? Math.max(0, (now.getTime() - overdueAt.getTime()) / 1000) : 0
  return { ...sums, overdueSeconds, webhooks: await countLanes(db, states, now) }
}

async function sumParts(db: Sql) {
  const sums = { inbox: 0, waiting: 0, blocked: 0, exhausted: 0, lanesHeld: 0, lanesFull: 0 }
  for (const part of allParts) {
    const values = { part, most: countedAtMost, exceptionsAtMost }
    const depths = {
      ...(await db.one(table.countUnnumbered, { part })),
      ...(await db.one(table.selectDepths, values)),
    }
    for (const name of keysOf(sums)) sums[name] += depths[name]
  }
  return sums
}

interface Oldest {
  /** Of the first event that has no number yet. */
  readonly publishedAt: Date | null
  /** Of the first delivery that a worker should have taken. */
  readonly dueAt: Date | null
}

export async function readOldest(db: Sql, now: Date): Promise<Oldest> {
  const published: Date[] = []
  for (const part of allParts)
    published.push(...(await db.query(table.selectFirstPublished, { part })).map(({ at }) => at))
  const lanes = [...(await readLaneStates(db, now)).values()].filter(
    (lane: LaneState) => !isBreakerOpen(lane),
  )
  return { publishedAt: firstOf(published), dueAt: firstOf(lanes.map(({ lateSince }) => lateSince)) }
}

function firstOf(moments: readonly (Date | null)[]): Date | null {
  return moments.reduce((first, at) => (at && (!first || at < first) ? at : first), null)
}
