/** How every webhook is, of all partners and both environments, worst first: what an operator looks at. */
import { after, minute } from '../../clock.ts'
import type { Sql } from '../../database/database.ts'
import type { Environment } from '../../environment.ts'
import { NotFound } from '../../problem.ts'
import { findReceiver } from '../events/event-search.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { countConditions, selectLane, selectLanes } from './lane-health.sql.ts'
import { type LaneState, readLaneStates } from './lane-state.ts'
import { isBreakerOpen } from './webhook-health.ts'

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

/** As statements about webhooks take it. */
function columnsOf(states: Iterable<LaneState>, now: Date): unknown[][] {
  const all = [...states]
  return [
    all.map(({ webhookId }) => webhookId),
    all.map(({ failures }) => failures),
    all.map(({ failingSince }) => failingSince),
    all.map(({ dueAt }) => dueAt),
    all.map((state) => judge(state, now)),
  ]
}

function judge(state: LaneState, now: Date): LaneCondition {
  if (isBreakerOpen(state)) return 'breaker open'
  if (state.failures > 0) return 'failing'
  return state.lateSince && state.lateSince < after(now, -lateMs) ? 'late' : 'healthy'
}

export async function listLanes(
  sql: Sql,
  { conditions, environment, partner }: LaneFilter,
  now: Date,
  { most, skip }: { most: number; skip: number },
): Promise<LaneHealth[]> {
  const branch = typeof partner === 'number' ? partner : undefined
  const name = typeof partner === 'string' ? partner : undefined
  const states = columnsOf((await readLaneStates(sql, now)).values(), now)
  const values = [...states, environment, branch, name, conditions, laneConditions, most, skip]
  return sql.query<LaneHealth>(selectLanes, values)
}

export async function getLane(sql: Sql, id: number, now: Date): Promise<LaneHealth> {
  const webhook = await findReceiver(sql, id)
  const states = webhook ? await readLaneStates(sql, now, [webhook]) : new Map()
  const [lane] = await sql.query<LaneHealth>(selectLane, [...columnsOf(states.values(), now), id])
  if (!lane) throw new NotFound(`There is no webhook ${id}.`)
  return lane
}

export async function countLanes(sql: Sql, now: Date): Promise<ReadonlyMap<LaneCondition, number>> {
  const states = columnsOf((await readLaneStates(sql, now)).values(), now)
  const rows = await sql.query<{ condition: LaneCondition; webhooks: number }>(countConditions, states)
  return new Map(rows.map(({ condition, webhooks }) => [condition, webhooks]))
}
