/** What became of an attempt, and what follows from it for the delivery. */

import { setTimeout as wait } from 'node:timers/promises'
import { gatewayActor } from '../audit/audit.ts'
import { type Batch, openBatch } from '../database/batch.ts'
import { type Database, DatabaseUnavailable, isDeadlock } from '../database/database.ts'
import type { Outcome } from './attempt.ts'
import { type DueDelivery, isLeased, type Lane } from './lane.ts'
import * as table from './lanes.sql.ts'
import { nextAttemptAt, parseRetryAfter } from './retry-schedule.ts'
import { disableWebhook } from './webhook.ts'

export interface Settlement {
  readonly lane: Lane
  readonly delivery: DueDelivery
  readonly outcome: Outcome
  readonly at: Date
  readonly durationMs: number
  readonly now: Date
  readonly disable: string | undefined
}

export interface Settled {
  /** False when the lease was lost: somebody else sends it again. */
  readonly accepted: boolean
  /** Another delivery of the same entity may go now. */
  readonly released: boolean
  /** What was to be written down. */
  readonly verdict: Verdict
}

const deadlocksAtMost = 5
const awayWaitMs = 250

export interface Verdict {
  readonly state: 'delivered' | 'waiting' | 'exhausted'
  readonly dueAt: Date | undefined
}

export function judge(outcome: Outcome, tries: number, now: Date): Verdict {
  if (outcome.kind === 'accepted') return { state: 'delivered', dueAt: undefined }
  const retryAfterMs = outcome.kind === 'refused' ? parseRetryAfter(outcome.retryAfter, now) : 0
  const dueAt = nextAttemptAt(tries + 1, now, retryAfterMs)
  return dueAt ? { state: 'waiting', dueAt } : { state: 'exhausted', dueAt: undefined }
}

/** Settlements that come in together share one transaction. */
export function openSettlements(db: Database): Batch<Settlement, Settled> {
  return openBatch((items: Settlement[]) => settlePatiently(db, items), {
    keyOf: (item) => String(item.delivery.id),
    maxItems: 500,
  })
}

/**
 * An attempt that was made must be written down: a circle of locks, or a database that is away for a moment, costs a repetition,
 * not the record. Nobody repeats past the lease.
 */
async function settlePatiently(db: Database, items: Settlement[]): Promise<Settled[]> {
  let isInDoubt = false
  for (let tries = 1; ; tries++) {
    try {
      const settled = await settleAll(db, items)
      // What the last try may have written cannot be written again; whether the lease was lost the next renewal tells.
      return isInDoubt ? settled.map((each) => ({ ...each, accepted: true })) : settled
    } catch (error) {
      if (isDeadlock(error) && tries < deadlocksAtMost) continue
      if (!(error instanceof DatabaseUnavailable) || !items.some(({ lane }) => isLeased(lane))) throw error
      isInDoubt = true
      await wait(awayWaitMs)
    }
  }
}

async function settleAll(db: Database, items: Settlement[]): Promise<Settled[]> {
  const lanes = [...new Set(items.map((item) => item.lane))]
  const verdicts = items.map((item) => judge(item.outcome, item.delivery.tries, item.now))
  return db.transaction(async (sql) => {
    const rows = await sql.query<{ id: number; state: string }>(table.settleDeliveries, [
      lanes.map((lane) => lane.webhookId),
      lanes.map((lane) => lane.claimId),
      items.map((item) => item.delivery.id),
      items.map((item) => item.lane.webhookId),
      items.map((item) => item.delivery.attempts),
      verdicts.map((verdict) => verdict.state),
      verdicts.map((verdict) => verdict.dueAt),
      items.map((item) => item.at),
      items.map((item) => Math.round(item.durationMs)),
      items.map((item) => item.outcome.kind),
      items.map((item) => (item.outcome.kind === 'unreachable' ? null : item.outcome.status)),
      items.map((item) => (item.outcome.kind === 'unreachable' ? item.outcome.why : null)),
      items.map((item) => (item.outcome.kind === 'unreachable' ? null : item.outcome.response)),
      items[0]!.now,
    ])
    const accepted = new Set(rows.map((row) => row.id))
    const finished = rows.filter((row) => row.state !== 'waiting').map((row) => row.id)
    const released = new Set<number>()
    if (finished.length > 0) {
      const freed = await sql.query<{ webhook_id: number }>(table.releaseBlocked, [finished, items[0]!.now])
      for (const row of freed) released.add(row.webhook_id)
    }
    for (const item of items) {
      if (item.disable !== undefined && accepted.has(item.delivery.id)) {
        await disableWebhook(sql, item.lane.webhookId, item.disable, gatewayActor, item.now)
      }
    }
    return items.map((item, index) => ({
      accepted: accepted.has(item.delivery.id),
      released: released.has(item.lane.webhookId),
      verdict: verdicts[index]!,
    }))
  })
}
