/** What became of an attempt, and what follows from it for the delivery. */
import { setTimeout as wait } from 'node:timers/promises'
import { gatewayActor } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import { type Database, DatabaseUnavailable, type Sql } from '../database/database.ts'
import type { Outcome } from './attempt.ts'
import { type Days, dayOf, dayOfId, isYoung } from './days.ts'
import { type DueDelivery, isLeased, type Lane } from './lane.ts'
import * as table from './lanes.sql.ts'
import { writeToPart } from './part.ts'
import { nextAttemptAt, parseRetryAfter } from './retry-schedule.ts'
import { recordLateAttempts } from './skips.sql.ts'
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

export interface Verdict {
  readonly state: 'delivered' | 'waiting' | 'exhausted'
  readonly dueAt: Date | undefined
}

const awayWaitMs = 250
const settledAtOnce = 500
/** The other connections are for whoever else wants something. */
const transactionsAtOnce = 2

export function judge(outcome: Outcome, tries: number, now: Date): Verdict {
  if (outcome.kind === 'accepted') return { state: 'delivered', dueAt: undefined }
  const retryAfterMs = outcome.kind === 'refused' ? parseRetryAfter(outcome.retryAfter, now) : 0
  const dueAt = nextAttemptAt(tries + 1, now, retryAfterMs)
  return dueAt ? { state: 'waiting', dueAt } : { state: 'exhausted', dueAt: undefined }
}

export interface SettlementDesk {
  readonly db: Database
  readonly clock: Clock
  readonly days: Days
}

export interface Settlements {
  /** Never turned away: how much can wait is bounded by how much is sent. */
  settle(item: Settlement): Promise<Settled>
}

interface Waiting {
  readonly item: Settlement
  readonly resolve: (settled: Settled) => void
  readonly reject: (error: unknown) => void
}

/** Settlements of a part that come in together share one transaction; the part with most to settle goes first. */
export function openSettlements(desk: SettlementDesk): Settlements {
  const waiting = new Map<number, Waiting[]>()
  const underWay = new Set<number>()
  let scheduled = false

  function schedule(): void {
    if (scheduled || underWay.size >= transactionsAtOnce) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      const part = findFullest()
      if (part === undefined) return
      void flush(part)
      schedule()
    })
  }

  function findFullest(): number | undefined {
    const free = [...waiting].filter(([part, items]) => items.length > 0 && !underWay.has(part))
    return free.sort(([, a], [, b]) => b.length - a.length)[0]?.[0]
  }

  async function flush(part: number): Promise<void> {
    const taken = waiting.get(part)!.splice(0, settledAtOnce)
    underWay.add(part)
    try {
      const settled = await settlePatiently(
        desk,
        part,
        taken.map(({ item }) => item),
      )
      for (const [index, { resolve }] of taken.entries()) resolve(settled[index]!)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    } finally {
      underWay.delete(part)
      schedule()
    }
  }

  return {
    settle: (item) =>
      new Promise((resolve, reject) => {
        const queue = waiting.get(item.lane.part) ?? []
        waiting.set(item.lane.part, queue)
        queue.push({ item, resolve, reject })
        schedule()
      }),
  }
}

/**
 * An attempt that was made must be written down: a database that is away for a moment costs a repetition, not the record.
 * Nobody repeats past the lease.
 */
async function settlePatiently(desk: SettlementDesk, part: number, items: Settlement[]): Promise<Settled[]> {
  for (let isInDoubt = false; ; isInDoubt = true) {
    try {
      const settled = await settleAll(desk, part, items)
      // What the last try may have written cannot be written again; whether the lease was lost the next renewal tells.
      return isInDoubt ? settled.map((each) => ({ ...each, accepted: true })) : settled
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || !items.some(({ lane }) => isLeased(lane))) throw error
      await wait(awayWaitMs)
    }
  }
}

interface Judged extends Settlement {
  readonly verdict: Verdict
}

async function settleAll(desk: SettlementDesk, part: number, items: readonly Settlement[]): Promise<Settled[]> {
  const judged = items.map((item) => ({ ...item, verdict: judge(item.outcome, item.delivery.attempts, item.now) }))
  await desk.days.open(dayOf(desk.clock.now()))
  return writeToPart(desk.db, part, async (sql) => {
    const accepted = new Set<number>()
    const released = new Set<number>()
    for (const [day, together] of Map.groupBy(judged, ({ delivery }) => dayOfId(delivery.id))) {
      for (const row of await settleDay(sql, day, together, desk.clock.now())) {
        if (row.freed) released.add(row.webhook_id)
        else accepted.add(row.id)
      }
    }
    const missed = judged.filter(({ delivery }) => !accepted.has(delivery.id))
    if (missed.length > 0) for (const id of await settleLate(sql, missed, desk.clock.now())) accepted.add(id)
    for (const { lane, delivery, disable, now } of items) {
      if (disable === undefined || !accepted.has(delivery.id)) continue
      await disableWebhook(sql, lane.webhookId, disable, gatewayActor, now)
    }
    return judged.map(({ lane, delivery, verdict }) => ({
      accepted: accepted.has(delivery.id),
      released: released.has(lane.webhookId),
      verdict,
    }))
  })
}

/** What was skipped or expired while its attempt was under way has ended already: the attempt is kept, and the lane is not lost. */
async function settleLate(sql: Sql, items: readonly Judged[], now: Date): Promise<number[]> {
  const rows = await sql.query<{ id: number }>(recordLateAttempts, [
    items.map((item) => item.delivery.id),
    items.map((item) => item.lane.webhookId),
    items.map((item) => item.lane.claimId),
    items.map((item) => item.delivery.attempts + 1),
    ...attemptColumns(items),
    dayOf(now),
  ])
  return rows.map((row) => row.id)
}

/** When, how long, and what came back. */
function attemptColumns(items: readonly Judged[]): unknown[][] {
  return [
    items.map((item) => item.at),
    items.map((item) => Math.round(item.durationMs)),
    items.map((item) => item.outcome.kind),
    items.map(({ outcome }) => (outcome.kind === 'unreachable' ? null : outcome.status)),
    items.map(({ outcome }) => (outcome.kind === 'unreachable' ? outcome.why : null)),
    items.map(({ outcome }) => (outcome.kind === 'unreachable' ? null : outcome.response)),
  ]
}

type SettledRow =
  | { readonly freed: true; readonly webhook_id: number }
  | { readonly freed: false; readonly id: number; readonly state: string }

function settleDay(sql: Sql, day: number, items: readonly Judged[], now: Date): Promise<SettledRow[]> {
  const lanes = [...new Set(items.map((item) => item.lane))]
  const statement = isYoung(day, now) ? table.settleDeliveries(day) : table.settleOldDeliveries
  return sql.query<SettledRow>(statement, [
    lanes.map((lane) => lane.webhookId),
    lanes.map((lane) => lane.claimId),
    items.map((item) => item.delivery.id),
    items.map((item) => item.lane.webhookId),
    items.map((item) => item.delivery.attempts),
    items.map((item) => item.verdict.state),
    items.map((item) => item.verdict.dueAt),
    ...attemptColumns(items),
    now,
    dayOf(now),
  ])
}
