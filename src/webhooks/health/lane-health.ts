/** How webhooks are, of all partners and both environments: as their lanes and their configuration say. */
import type { Sql } from '../../database/database.ts'
import { NotFound } from '../../problem.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { findReceiver } from '../events/event-search.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { type Condition, conditions, judge } from './condition.ts'
import { countConditions, selectLanes, selectLanesOf } from './lane-health.sql.ts'
import { type LaneState, type LaneStates, readLaneStates } from './lane-state.ts'

export interface LaneHealth extends Webhook, Omit<LaneState, 'webhookId'> {
  readonly partner: string
  readonly condition: Condition
}

interface LaneFilter {
  readonly conditions?: readonly Condition[] | undefined
  readonly environment?: Environment | undefined
  /** A branch, or a part of a partner's name. */
  readonly partner?: number | string | undefined
}

/** As statements about webhooks take it. */
function columnsOf(states: LaneStates, now: Date) {
  const all = [...states.values()]
  return {
    webhookIds: all.map(({ webhookId }) => webhookId),
    conditions: all.map((state) => judge(state, now)),
    failingSince: all.map(({ failingSince }) => failingSince),
    dueAt: all.map(({ dueAt }) => dueAt),
  }
}

/** Of a lane that sleeps, and whose last attempt was accepted. */
const nothing: Omit<LaneState, 'webhookId'> = {
  termBegan: 'created',
  isTried: true,
  failures: 0,
  failingSince: null,
  troubleSince: null,
  entities: 0,
  retried: 0,
  dueAt: null,
  lateSince: null,
}

type Judged = Webhook & Pick<LaneHealth, 'partner' | 'condition'>

function withState(states: LaneStates) {
  return (row: Judged): LaneHealth => {
    const { webhookId: _, ...state } = { webhookId: row.id, ...(states.get(row.id) ?? nothing) }
    return { ...row, ...state }
  }
}

interface LanePage {
  readonly most: number
  readonly skip: number
}

/** The worst first. */
export async function listLanes(
  sql: Sql,
  filter: LaneFilter,
  now: Date,
  page: LanePage,
): Promise<LaneHealth[]> {
  return chooseLanes(sql, await readLaneStates(sql, now), filter, now, page)
}

/** As they were found to be, the worst first. */
export async function chooseLanes(
  sql: Sql,
  states: LaneStates,
  { conditions: wanted, environment, partner }: LaneFilter,
  now: Date,
  { most, skip }: LanePage,
): Promise<LaneHealth[]> {
  const of = typeof partner === 'number' ? { branchId: partner } : { partner }
  const chosen = { environment, ...of, wanted }
  const columns = columnsOf(states, now)
  const rows = await sql.query(selectLanes, { ...columns, ...chosen, order: conditions, most, skip })
  return rows.map(withState(states))
}

/** Those of them that are not deleted, by their ids. */
export async function readLanes(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id' | 'branchId'>[],
  now: Date,
): Promise<ReadonlyMap<number, LaneHealth>> {
  if (webhooks.length === 0) return new Map()
  const ids = webhooks.map(({ id }) => id)
  return nameLanes(sql, await readLaneStates(sql, now, webhooks), ids, now)
}

/** As they were found to be. */
export async function nameLanes(
  sql: Sql,
  states: LaneStates,
  ids: readonly number[],
  now: Date,
): Promise<ReadonlyMap<number, LaneHealth>> {
  const rows = await sql.query(selectLanesOf, { ...columnsOf(states, now), ids })
  return new Map(rows.map(withState(states)).map((lane) => [lane.id, lane]))
}

export async function getLane(sql: Sql, id: number, now: Date): Promise<LaneHealth> {
  const webhook = await findReceiver(sql, id)
  const lane = webhook && (await readLanes(sql, [webhook], now)).get(id)
  if (!lane) throw new NotFound(`There is no webhook ${id}.`)
  return lane
}

type ConditionCounts = ReadonlyMap<Condition, number>

/** Of all webhooks. */
export async function countLanes(sql: Sql, states: LaneStates, now: Date): Promise<ConditionCounts> {
  const rows = await sql.query(countConditions, columnsOf(states, now))
  return new Map(rows.map(({ condition, webhooks }) => [condition, webhooks]))
}
