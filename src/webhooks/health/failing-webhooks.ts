/** Webhooks whose receivers refuse or do not answer, failing longest first: of all partners, or of some. */
import type { Database, Sql } from '../../database/database.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { findPresentParts } from '../events/away-parts.ts'
import { branchOfFeed } from '../events/part.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { isFailing } from './condition.ts'
import { selectFailing, selectServed } from './failing-webhooks.sql.ts'
import { type FailedAttempt, readFailures } from './failure.ts'
import { type LaneHealth, nameLanes, readLanes } from './lane-health.ts'
import type { LaneStates } from './lane-state.ts'

const sinceMs = ({ failingSince }: LaneHealth) => failingSince?.getTime() ?? Number.POSITIVE_INFINITY
const longestFirst = (one: LaneHealth, other: LaneHealth) =>
  sinceMs(one) - sinceMs(other) || one.id - other.id

interface FailingWebhook extends LaneHealth {
  readonly failingSince: Date
}

/** Of all partners on both sites, those that fail longest, as they are judged. */
export async function listFailingWebhooks(db: Database, now: Date, most: number): Promise<FailingWebhook[]> {
  const found: { readonly id: number; readonly branchId: number }[] = []
  for (const part of await findPresentParts(db))
    for (const { id, feed } of await db.query(selectFailing, { part, most }))
      found.push({ id, branchId: branchOfFeed(feed).branchId })
  const lanes = [...(await readLanes(db, found, now)).values()]
  return lanes.filter(isFailingNow).sort(longestFirst).slice(0, most)
}

/** Of all partners on a site, those that fail longest, of lanes as they were found to be. */
export async function chooseFailing(
  sql: Sql,
  states: LaneStates,
  environment: Environment,
  now: Date,
  most: number,
): Promise<FailingWebhook[]> {
  const failing = new Map([...states].filter(([, { failures }]) => failures > 0))
  const lanes = [...(await nameLanes(sql, failing, [...failing.keys()], now)).values()]
  return lanes
    .filter(isFailingNow)
    .filter((lane) => lane.environment === environment)
    .sort(longestFirst)
    .slice(0, most)
}

/** Those that were disabled are not tried. */
function isFailingNow(lane: LaneHealth): lane is FailingWebhook {
  return lane.state === 'active' && isFailing(lane.condition)
}

export interface BranchFailure {
  readonly webhook: LaneHealth
  /** Undefined when it has left with its day. */
  readonly last: FailedAttempt | undefined
  /** How many of the branch fail, those included that are not listed. */
  readonly total: number
}

/** At most so many of each branch; those that were disabled are among them. */
export async function listFailingOf(
  sql: Sql,
  branchIds: readonly number[],
  environment: Environment,
  mostOfEach: number,
  now: Date,
): Promise<ReadonlyMap<number, readonly BranchFailure[]>> {
  if (branchIds.length === 0) return new Map()
  const webhooks: Webhook[] = await sql.query(selectServed, { branchIds, environment })
  const lanes = [...(await readLanes(sql, webhooks, now)).values()]
  const failing = lanes.filter(({ condition }) => isFailing(condition)).sort(longestFirst)
  const shown = [...Map.groupBy(failing, ({ branchId }) => branchId).values()].map((all) => ({
    total: all.length,
    first: all.slice(0, mostOfEach),
  }))
  const failures = await readFailures(
    sql,
    shown.flatMap(({ first }) => first),
  )
  const told = shown.flatMap(({ total, first }) =>
    first.map((webhook) => ({ webhook, last: failures.get(webhook.id)?.last, total })),
  )
  return Map.groupBy(told, ({ webhook }) => webhook.branchId)
}
