/** Webhooks whose receivers refuse or do not answer, failing longest first: of all partners, or of some. */
import type { Database, Sql } from '../../database/database.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { findPresentParts } from '../events/away-parts.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectFailing, selectOwners, selectServed } from './failing-webhooks.sql.ts'
import { type FailedAttempt, readFailures } from './failure.ts'
import { type LaneState, readLaneStates } from './lane-state.ts'
import { type Condition, isBreakerOpen, judgeHealth } from './webhook-health.ts'

interface FailingWebhook {
  readonly id: number
  readonly url: string
  readonly environment: Environment
  readonly branchId: number
  readonly partner: string
  /** In a row. */
  readonly failures: number
  readonly since: Date
  /** Its breaker: one attempt at a time probes. */
  readonly isOpen: boolean
}

interface FailingLane {
  readonly webhookId: number
  readonly failures: number
  readonly since: Date
  readonly isOpen: boolean
}

/** Of all partners, those that fail longest. */
async function listFailingLanes(db: Database, most: number): Promise<FailingLane[]> {
  type Row = Pick<LaneState, 'webhookId' | 'failures' | 'entities'> & { since: Date }
  const lanes: Row[] = []
  for (const part of await findPresentParts(db))
    lanes.push(...(await db.query(selectFailing, { part, most })))
  const longest = lanes.sort((one, other) => one.since.getTime() - other.since.getTime()).slice(0, most)
  return longest.map(({ entities, ...lane }) => ({ ...lane, isOpen: isBreakerOpen({ ...lane, entities }) }))
}

export async function listFailingWebhooks(db: Database, most: number): Promise<FailingWebhook[]> {
  const lanes = await listFailingLanes(db, most)
  const owners = await db.query(selectOwners, { ids: lanes.map(({ webhookId }) => webhookId) })
  const ownerOf = new Map(owners.map((owner) => [owner.id, owner]))
  return lanes.flatMap(({ webhookId, ...lane }) => {
    const owner = ownerOf.get(webhookId)
    return owner ? [{ ...owner, ...lane }] : []
  })
}

export interface BranchFailure {
  readonly webhook: Webhook
  readonly condition: Condition
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
  const webhooks = await sql.query(selectServed, { branchIds, environment })
  const states = await readLaneStates(sql, now, webhooks)
  const isFailing = ({ id, state }: Webhook) => state === 'disabled' || (states.get(id)?.failures ?? 0) > 0
  const sinceMs = ({ id }: Webhook) => states.get(id)?.failingSince?.getTime() ?? Number.POSITIVE_INFINITY
  const failing = webhooks
    .filter(isFailing)
    .sort((one, other) => sinceMs(one) - sinceMs(other) || one.id - other.id)
  const shown = [...Map.groupBy(failing, ({ branchId }) => branchId).values()].map((all) => ({
    total: all.length,
    first: all.slice(0, mostOfEach),
  }))
  const failures = await readFailures(
    sql,
    shown.flatMap(({ first }) => first),
  )
  const told = shown.flatMap(({ total, first }) =>
    first.map((webhook) => {
      const condition = judgeHealth(webhook, states.get(webhook.id))
      return { webhook, condition, last: failures.get(webhook.id)?.last, total }
    }),
  )
  return Map.groupBy(told, ({ webhook }) => webhook.branchId)
}
