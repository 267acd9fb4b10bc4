/**
 * The lanes that a worker holds, as long as it says that it is there (a lease; membership.ts). What it holds when it dies is free again when others see
 * that it is gone; nothing that it does after that can be settled. Who holds more than its share gives lanes back at once (rebalancing).
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, second } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { handBack, type Lane, limitedBeyond, notBefore, openLane, waitOfLimit } from './lane.ts'
import * as table from './lanes.sql.ts'
import type { Company } from './membership.ts'

const confirmAgainMs = 250
/**
 * A lane that has run dry is kept for a while: the next delivery then costs no claim. Each claim and each release is a dead row, which everybody who
 * reaches the lane has to pass for as long as a dump or a report keeps its snapshot: there are at most some hundred of them an hour.
 */
export const usualLingerMs = 3 * second
const lanesHeldAtMost = 2_000
const lanesClaimedAtOnce = 100
/** Somebody else is to have what was given back. */
const givenBackMs = second
/** So few are no burden, and a move costs them a moment. */
const shareSlack = 2
/** Older claims have run out by themselves. */
const doubtsAtMost = 100

interface HeldLanesDesk {
  readonly db: Database
  readonly clock: Clock
  /** The worker's number; undefined while others cannot see that it lives. */
  readonly number: () => number | undefined
  /** The number it has, however long ago anybody saw it. */
  readonly lastNumber: () => number | undefined
  /** Lanes that were in doubt are this worker's own: it may send again. */
  readonly confirmed: () => void
  readonly complain: (error: unknown) => void
  /** How long a lane that has run dry is kept. */
  readonly lingerMs: number
}

export class HeldLanes {
  readonly #desk: HeldLanesDesk
  readonly #lanes = new Map<number, Lane>()
  /** Lanes that somebody else is to take, and until when. */
  readonly #givenBack = new Map<number, number>()
  /** Claims whose outcome nobody told us. */
  #doubtful: string[] = []
  /** Claims that the database knows of and this worker does not: they may be under way. */
  #unknown: ReadonlySet<string> = new Set()
  #confirming: Promise<void> | undefined
  #leasedUntilMs = 0
  #closing = false

  constructor(desk: HeldLanesDesk) {
    this.#desk = desk
  }

  /** There is room for what comes unasked. */
  get hasRoom(): boolean {
    return this.#lanes.size < lanesHeldAtMost / 2
  }

  get size(): number {
    return this.#lanes.size
  }

  all(): Lane[] {
    return [...this.#lanes.values()]
  }

  find(webhookId: number): Lane | undefined {
    return this.#lanes.get(webhookId)
  }

  /** Claims may be in the database that nobody here knows of. */
  get hasDoubts(): boolean {
    return this.#doubtful.length > 0
  }

  /** Takes lanes that need somebody; answers whether there may be more. */
  async claim(): Promise<boolean> {
    const { db, clock } = this.#desk
    const most = Math.min(lanesClaimedAtOnce, lanesHeldAtMost - this.#lanes.size)
    const number = this.#desk.number()
    if (most <= 0 || number === undefined) return false
    if (this.#doubtful.length > 0) await this.#undoDoubtful()
    const claimId = randomUUID()
    const values = [claimId, clock.now(), most, this.#recentlyGivenBack(), number]
    const rows = await db.query<LeasedRow>(table.claimLanes, values).catch((error: unknown) => {
      this.doubtClaim(claimId)
      throw error
    })
    for (const row of rows) this.adopt(row, claimId)
    return rows.length === most
  }

  /** A lane that was leased to this worker. */
  adopt(row: LeasedRow, claimId: string): Lane {
    const before = this.#lanes.get(row.webhookId)
    if (before) before.lost = true
    const lane = openLane({ ...claimedOf(row), claimId, leasedUntilMs: this.#leasedUntilMs })
    this.#lanes.set(row.webhookId, lane)
    return lane
  }

  /** Nobody told whether it was made: it is undone before the next. */
  doubtClaim(claimId: string): void {
    this.#doubtful = [...this.#doubtful, claimId].slice(-doubtsAtMost)
  }

  /** A claim that was made and not heard of would keep its lanes from everybody until the lease ends. */
  async #undoDoubtful(): Promise<void> {
    const claims = [...this.#doubtful]
    await this.#desk.db.query(table.undoClaims, [claims, this.#desk.clock.now()])
    this.#doubtful = this.#doubtful.filter((claimId) => !claims.includes(claimId))
  }

  /** Lanes in which nothing has been under way for a moment and nothing more is due, or may be sent, go back. */
  async letGo(): Promise<void> {
    for (const lane of this.all()) if (lane.lost) handBack(lane)
    const now = performance.now()
    const patienceMs = this.#lanes.size > lanesHeldAtMost / 2 ? 0 : this.#desk.lingerMs
    // One that is lost is somebody else's, or it is nobody's from here on.
    const isOver = (lane: Lane) => isDone(lane, now, patienceMs) || (patienceMs === 0 && this.#waits(lane))
    const done = this.all().filter((lane) => (lane.lost ? lane.inHand.size === 0 : isOver(lane)))
    if (done.length > 0) await this.#release(done)
    if (done.some((lane) => lane.leaving)) await this.#desk.db.query(table.wakeOthers)
  }

  /** For its receiver's next second: where there is little room, it waits for that in nobody's hands. */
  #waits(lane: Lane): boolean {
    return lane.inHand.size === 0 && waitOfLimit(lane, this.#desk.clock) > 0
  }

  async #release(lanes: readonly Lane[]): Promise<void> {
    const now = this.#desk.clock.now()
    for (const lane of lanes) this.#lanes.delete(lane.webhookId)
    const released = this.#desk.db.query(table.releaseLanes, [
      lanes.map((lane) => lane.webhookId),
      lanes.map((lane) => lane.claimId),
      lanes.map((lane) => lane.failures),
      lanes.map((lane) => lane.failingSince),
      lanes.map((lane) => notBefore(lane, now)),
      lanes.map((lane) => lane.evidence),
      lanes.map((lane) => lane.dueFrom),
      now,
      lanes.map((lane) => lane.heldUntil),
      lanes.map((lane) => limitedBeyond(lane, now)),
    ])
    await released.catch((error: unknown) => {
      // They are let go again later; whatever is no longer ours by then is let go by nobody.
      for (const lane of lanes) if (!this.#lanes.has(lane.webhookId)) this.#lanes.set(lane.webhookId, lane)
      throw error
    })
  }

  /** This worker was heard: what it holds is its own until then. Answers whether that had ended before. */
  lease(untilMs: number): boolean {
    const wasOver = performance.now() >= this.#leasedUntilMs
    this.#leasedUntilMs = untilMs
    for (const lane of this.all()) lane.leasedUntilMs = untilMs
    return wasOver
  }

  /** Others may take this worker for gone: nothing more is begun until it has a number again. */
  doubt(): void {
    for (const lane of this.all()) lane.doubtful = true
  }

  /** What it holds is its own under the new number, unless somebody has taken it meanwhile. */
  confirm(number: number): void {
    this.doubt()
    const before = this.#confirming ?? Promise.resolve()
    this.#confirming = before.then(() => this.#confirmAll(number))
  }

  async #confirmAll(number: number): Promise<void> {
    while (this.#lanes.size > 0 && !this.#closing && this.#desk.lastNumber() === number) {
      try {
        return await this.#confirmOnce(number, this.all())
      } catch (error) {
        this.#desk.complain(error)
        await wait(confirmAgainMs)
      }
    }
  }

  async #confirmOnce(number: number, held: readonly Lane[]): Promise<void> {
    const claims = [...new Set(held.map((lane) => lane.claimId))]
    const values = [held.map((lane) => lane.webhookId), claims, number]
    const rows = await this.#desk.db.query<{ webhookId: number }>(table.confirmLanes, values)
    const kept = new Set(rows.map((row) => row.webhookId))
    for (const lane of held) {
      if (!kept.has(lane.webhookId)) lane.lost = true
      else if (this.#desk.lastNumber() === number) lane.doubtful = false
    }
    this.#desk.confirmed()
  }

  /**
   * What the database says that this worker holds, and it knows nothing of, twice in a row: there should be none, and nobody else could free it while
   * this worker lives. Answers whether there was any.
   */
  async freeForgotten(): Promise<boolean> {
    const held = await this.#desk.db.query<{ webhookId: number; claimId: string }>(table.selectHeld, [
      this.#desk.lastNumber(),
    ])
    const isKnown = (row: (typeof held)[number]) => this.#lanes.get(row.webhookId)?.claimId === row.claimId
    const unknown = held.filter((row) => !isKnown(row))
    const forgotten = unknown.filter((row) => this.#unknown.has(row.claimId))
    this.#unknown = new Set(unknown.map((row) => row.claimId))
    if (forgotten.length === 0) return false
    this.#desk.complain(new Error(`${forgotten.length} lanes were held that this worker knew nothing of`))
    const values = [forgotten.map((row) => row.webhookId), forgotten.map((row) => row.claimId), this.#desk.clock.now()]
    await this.#desk.db.query(table.freeForgotten, values)
    return true
  }

  /** Answers whether anything is above this worker's share, and marks it as leaving. */
  share({ others, lanes }: Company): boolean {
    const held = this.#lanes.size
    const share = Math.ceil((lanes + held) / (others + 1))
    if (others === 0 || held <= share + shareSlack) return false
    this.#giveBack(held - share)
    return true
  }

  /** Those with least under way first: they can go at once. */
  #giveBack(count: number): void {
    const inOrder = this.all().sort((a, b) => a.sending - b.sending)
    for (const lane of inOrder.slice(0, count)) {
      lane.leaving = true
      handBack(lane)
      this.#givenBack.set(lane.webhookId, performance.now() + givenBackMs)
    }
  }

  #recentlyGivenBack(): number[] {
    const now = performance.now()
    for (const [webhookId, untilMs] of this.#givenBack) if (untilMs < now) this.#givenBack.delete(webhookId)
    return [...this.#givenBack.keys()]
  }

  /** What was read and not sent is nobody's from here on; what is under way may still be settled. */
  stop(): void {
    this.#closing = true
    for (const lane of this.all()) handBack(lane)
  }

  /** When nothing is under way any more. */
  async close(): Promise<void> {
    await this.#confirming
    await this.#release(this.all()).catch((error: unknown) => this.#desk.complain(error))
  }
}

function isDone(lane: Lane, nowMs: number, patienceMs: number): boolean {
  if (lane.inHand.size > 0) lane.quietSince = undefined
  else if (lane.probeAt || lane.heldUntil || lane.leaving) return true
  else if (lane.drained) lane.quietSince ??= nowMs
  return lane.quietSince !== undefined && nowMs - lane.quietSince >= patienceMs
}

export interface LeasedRow {
  readonly webhookId: number
  readonly branchId: number
  readonly part: number
  readonly failures: number
  readonly failingSince: Date | null
  readonly evidence: number
  readonly dueFrom: Date
  readonly limitedUntil: Date
}

/** `-infinity` is read as a number. */
export function claimedOf(row: LeasedRow) {
  const { webhookId, branchId, part, failures, failingSince, evidence } = row
  const dueFrom = row.dueFrom instanceof Date ? row.dueFrom : new Date(0)
  const limitedUntil = row.limitedUntil instanceof Date ? row.limitedUntil : undefined
  return {
    webhookId,
    branchId,
    part,
    failures,
    failingSince: failingSince ?? undefined,
    evidence,
    dueFrom,
    limitedUntil,
  }
}
