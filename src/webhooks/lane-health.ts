/** How every webhook is, of all partners and both environments, worst first: what an operator looks at. */
import { after, minute } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { NotFound } from '../problem.ts'
import { breakerThreshold } from './lane.ts'
import { countConditions, selectLane, selectLanes } from './lane-health.sql.ts'
import type { Webhook } from './webhook.ts'

/** In this order. `late`: its receiver is well, but what is due has not been sent for a minute. `held`: its partner is not approved. */
export const laneConditions = ['breaker open', 'disabled', 'failing', 'late', 'paused', 'held', 'healthy'] as const
export type LaneCondition = (typeof laneConditions)[number]
export const unwellConditions: readonly LaneCondition[] = laneConditions.filter((each) => each !== 'healthy')

const lateMs = minute

export interface LaneHealth extends Webhook {
  readonly partner: string
  readonly condition: LaneCondition
  readonly failures: number
  readonly failingSince: Date | null
  /** Of the first delivery that waits; it may lie in the future. */
  readonly dueAt: Date | null
}

interface LaneFilter {
  readonly conditions?: readonly LaneCondition[] | undefined
  readonly environment?: Environment | undefined
  /** A branch, or a part of a partner's name. */
  readonly partner?: number | string | undefined
}

const limitsAt = (now: Date) => [breakerThreshold, after(now, -lateMs)]

export function listLanes(
  sql: Sql,
  { conditions, environment, partner }: LaneFilter,
  now: Date,
  { most, skip }: { most: number; skip: number },
): Promise<LaneHealth[]> {
  const branch = typeof partner === 'number' ? partner : undefined
  const name = typeof partner === 'string' ? partner : undefined
  const values = [...limitsAt(now), environment, branch, name, conditions, laneConditions, most, skip]
  return sql.query<LaneHealth>(selectLanes, values)
}

export async function getLane(sql: Sql, id: number, now: Date): Promise<LaneHealth> {
  const [lane] = await sql.query<LaneHealth>(selectLane, [...limitsAt(now), id])
  if (!lane) throw new NotFound(`There is no webhook ${id}.`)
  return lane
}

export async function countLanes(sql: Sql, now: Date): Promise<ReadonlyMap<LaneCondition, number>> {
  const rows = await sql.query<{ condition: LaneCondition; webhooks: number }>(countConditions, limitsAt(now))
  return new Map(rows.map(({ condition, webhooks }) => [condition, webhooks]))
}
