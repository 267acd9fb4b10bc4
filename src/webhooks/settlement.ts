/** What became of an attempt, and what follows from it for the delivery. */
import { setTimeout as wait } from 'node:timers/promises'
import { gatewayAct } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import { type Database, DatabaseUnavailable, type Sql, type Step } from '../database/database.ts'
import type { Outcome } from './attempt.ts'
import { type Days, dayOf, dayOfId, isYoung } from './days.ts'
import { notingFailures } from './failure.ts'
import { type DueDelivery, isLeased, type Lane } from './lane.ts'
import * as table from './lanes.sql.ts'
import { writeTogether, writeToParts } from './part.ts'
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
  /** Since when another delivery of the same entity may go; undefined when none may. */
  readonly releasedAt: Date | undefined
  /** What was to be written down. */
  readonly verdict: Verdict
}

export interface Verdict {
  readonly state: 'delivered' | 'waiting' | 'exhausted'
  readonly dueAt: Date | undefined
}

const awayWaitMs = 250
const settledAtOnce = 500
/** That settle together, of whichever parts. */
const fewAtMost = 50
/** The other connections are for whoever else wants something. */
const transactionsAtOnce = 2
/** Fewer wait for company so long, unless somebody waits for them: what nobody waits for need not be on disk at once. */
const companyMs = 20
const enoughCompany = 8

export function judge(outcome: Outcome, tries: number, now: Date): Verdict {
  if (outcome.kind === 'accepted') return { state: 'delivered', dueAt: undefined }
  const retryAfterMs = outcome.kind === 'refused' ? parseRetryAfter(outcome.retryAfter, now) : 0
  const dueAt = nextAttemptAt(tries + 1, now, retryAfterMs)
  return dueAt ? { state: 'waiting', dueAt } : { state: 'exhausted', dueAt: undefined }
}

interface SettlementDesk {
  readonly db: Database
  readonly clock: Clock
  readonly days: Days
}

export interface Settlements {
  /** Never turned away: how much can wait is bounded by how much is sent. */
  settle(item: Settlement, isAwaited?: boolean): Promise<Settled>
  /** Somebody waits for what is waiting for company. */
  hurry(): void
}

interface Waiting {
  readonly item: Settlement
  readonly resolve: (settled: Settled) => void
  readonly reject: (error: unknown) => void
}

/**
 * Settlements that come in together share a transaction, and a lone one waits a moment for others to come: few of them all, whichever part they are of; of many those of a part, so that nobody waits
 * for the other parts, and the part with most to settle goes first.
 */
export function openSettlements(desk: SettlementDesk, patienceMs = companyMs): Settlements {
  const waiting = new Map<number, Waiting[]>()
  let lone: NodeJS.Timeout | undefined
  let isHurried = false
  const underWay = new Set<number>()
  let transactions = 0
  let scheduled = false

  function countWaiting(): number {
    let count = 0
    for (const items of waiting.values()) count += items.length
    return count
  }

  function schedule(): void {
    const count = countWaiting()
    if (isHurried || count >= enoughCompany) start()
    else if (count > 0) lone ??= setTimeout(hurry, patienceMs)
  }

  function hurry(): void {
    isHurried = countWaiting() > 0
    schedule()
  }

  function start(): void {
    clearTimeout(lone)
    lone = undefined
    if (scheduled || transactions >= transactionsAtOnce) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      const parts = choose()
      if (parts.length === 0) return
      void flush(parts)
      isHurried &&= countWaiting() > 0
      schedule()
    })
  }

  function choose(): readonly number[] {
    const free = [...waiting].filter(([part, items]) => items.length > 0 && !underWay.has(part))
    const count = free.reduce((sum, [, items]) => sum + items.length, 0)
    const inOrder = free.sort(([, a], [, b]) => b.length - a.length).map(([part]) => part)
    if (count > fewAtMost) return inOrder.slice(0, 1)
    return transactions === 0 ? inOrder : []
  }

  async function flush(parts: readonly number[]): Promise<void> {
    const taken = parts.flatMap((part) => waiting.get(part)!.splice(0, settledAtOnce))
    for (const part of parts) underWay.add(part)
    transactions++
    try {
      const settled = await settlePatiently(
        desk,
        parts,
        taken.map(({ item }) => item),
      )
      for (const [index, { resolve }] of taken.entries()) resolve(settled[index]!)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    } finally {
      transactions--
      for (const part of parts) underWay.delete(part)
      schedule()
    }
  }

  return {
    hurry,
    settle: (item, isAwaited = false) =>
      new Promise((resolve, reject) => {
        const queue = waiting.get(item.lane.part) ?? []
        waiting.set(item.lane.part, queue)
        queue.push({ item, resolve, reject })
        if (isAwaited) hurry()
        else schedule()
      }),
  }
}

/**
 * An attempt that was made must be written down: a database that is away for a moment costs a repetition, not the record.
 * Nobody repeats past the lease.
 */
async function settlePatiently(
  desk: SettlementDesk,
  parts: readonly number[],
  items: Settlement[],
): Promise<Settled[]> {
  for (let doubtfulSince: Date | undefined; ; ) {
    const now = desk.clock.now()
    try {
      const settled = await settleAll(desk, parts, items, now)
      return doubtfulSince ? settled.map((each) => ({ ...each, accepted: true, releasedAt: doubtfulSince })) : settled
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || !items.some(({ lane }) => isLeased(lane))) throw error
      // What this try may have written cannot be written again; whether the lease was lost the next renewal tells.
      doubtfulSince ??= now
      await wait(awayWaitMs)
    }
  }
}

interface Judged extends Settlement {
  readonly verdict: Verdict
}

async function settleAll(
  desk: SettlementDesk,
  parts: readonly number[],
  items: readonly Settlement[],
  now: Date,
): Promise<Settled[]> {
  const judged = items.map((item) => ({ ...item, verdict: judge(item.outcome, item.delivery.attempts, item.now) }))
  await desk.days.open(dayOf(now))
  const days = [...Map.groupBy(judged, ({ delivery }) => dayOfId(delivery.id))]
  const steps = [...days.map(([day, together]) => settling(day, together, now)), ...notingFailures(items, dayOf(now))]
  const rows = items.some((item) => item.disable !== undefined)
    ? await settleAndDisable(desk.db, parts, steps, items)
    : await writeTogether<SettledRow>(desk.db, parts, steps)
  const accepted = acceptedOf(rows)
  const missed = judged.filter(({ delivery }) => !accepted.has(delivery.id))
  if (missed.length > 0) for (const id of await settleLate(desk.db, missed, now)) accepted.add(id)
  const released = new Set(rows.flatMap((row) => (row.freed ? [row.webhookId] : [])))
  return judged.map(({ lane, delivery, verdict }) => ({
    accepted: accepted.has(delivery.id),
    releasedAt: released.has(lane.webhookId) ? now : undefined,
    verdict,
  }))
}

/** A webhook is switched off by what was settled, not by what a worker believes that has lost its lane. */
function settleAndDisable(
  db: Database,
  parts: readonly number[],
  steps: readonly Step[],
  items: readonly Settlement[],
): Promise<SettledRow[]> {
  return writeToParts(db, parts, async (sql) => {
    const rows = (await Promise.all(steps.map((step) => sql.query<SettledRow>(...step)))).flat()
    const accepted = acceptedOf(rows)
    for (const { lane, delivery, disable, now } of items) {
      if (disable === undefined || !accepted.has(delivery.id)) continue
      await disableWebhook(sql, lane.webhookId, disable, gatewayAct(now))
    }
    return rows
  })
}

function acceptedOf(rows: readonly SettledRow[]): Set<number> {
  return new Set(rows.flatMap((row) => (row.freed ? [] : [row.id])))
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
    detailsOf(items),
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

function detailsOf(items: readonly Judged[]): (string | undefined)[] {
  return items.map(({ outcome }) => (outcome.kind === 'accepted' ? undefined : outcome.detail))
}

type SettledRow =
  | { readonly freed: true; readonly webhookId: number }
  | { readonly freed: false; readonly id: number; readonly state: string }

function settling(day: number, items: readonly Judged[], now: Date): Step {
  const lanes = [...new Set(items.map((item) => item.lane))]
  const statement = isYoung(day, now) ? table.settleDeliveries(day) : table.settleOldDeliveries
  const values = [
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
    detailsOf(items),
  ]
  return [statement, values]
}
