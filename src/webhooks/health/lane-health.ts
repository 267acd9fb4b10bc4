/** How every webhook is, of all partners and both environments, worst first: what an operator looks at. */
import { after, minute } from '../../clock.ts'
import type { Sql } from '../../database/database.ts'
import { NotFound } from '../../problem.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { findReceiver } from '../events/event-search.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { countConditions, selectLane, selectLanes } from './lane-health.sql.ts'
import { type LaneState, readLaneStates } from './lane-state.ts'
import { isBreakerOpen } from './webhook-health.ts'

/**
 * In this order. `late`: its receiver is well, but what is due has not been sent for a minute. `held`: its
 * partner is not approved.
 */
export const laneConditions = [
  'breaker open',
  'disabled',
  'failing',
  'late',
  'paused',
  'held',
  'healthy',
] as const
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
function columnsOf(states: ReadonlyMap<number, LaneState>, now: Date) {
  const all = [...states.values()]
  return {
    webhookIds: all.map(({ webhookId }) => webhookId),
    failures: all.map(({ failures }) => failures),
    failingSince: all.map(({ failingSince }) => failingSince),
    dueAt: all.map(({ dueAt }) => dueAt),
    conditions: all.map((state) => judge(state, now)),
  }
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
  const of = typeof partner === 'number' ? { branchId: partner } : { partner }
  const states = columnsOf(await readLaneStates(sql, now), now)
  const chosen = { environment, ...of, wanted: conditions }
  return sql.query(selectLanes, { ...states, ...chosen, order: laneConditions, most, skip })
}

export async function getLane(sql: Sql, id: number, now: Date): Promise<LaneHealth> {
  const webhook = await findReceiver(sql, id)
  const states = webhook ? await readLaneStates(sql, now, [webhook]) : new Map<number, LaneState>()
  const [lane] = await sql.query(selectLane, { ...columnsOf(states, now), id })
  if (!lane) throw new NotFound(`There is no webhook ${id}.`)
  return lane
}

export async function countLanes(sql: Sql, now: Date): Promise<ReadonlyMap<LaneCondition, number>> {
  const rows = await sql.query(countConditions, columnsOf(await readLaneStates(sql, now), now))
  return new Map(rows.map(({ condition, webhooks }) => [condition, webhooks]))
}
