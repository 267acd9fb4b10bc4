/**
 * Which workers deliver, and which of them live (a failure detector). The connection by which a worker hears
 * of work holds the lock of its number: PostgreSQL releases it when the process is gone, and a worker that
 * sees that frees the lanes of the dead one. A worker that loses the connection and lives takes a new number,
 * and takes along the lanes it holds. A worker wrongly taken for dead loses lanes and nothing else: epochs
 * keep it from writing.
 */
import { randomUUID } from 'node:crypto'
import { after, type Clock, second } from '../../clock.ts'
import { openFlights } from '../../concurrency/single-flight.ts'
import { type Database, DatabaseUnavailable, type Listener } from '../../database/database.ts'
import { findPresentParts } from '../events/away-parts.ts'
import { poolOf } from '../events/part.ts'
import { findGoneHolders } from './gone-holders.ts'
import { freeLanes, keepLanes } from './kernel.sql.ts'
import * as table from './workers.sql.ts'

/** A connection that hears of work and is silent for longer is opened anew. */
const silenceLimitMs = 5_000
const openAgainMs = 250
/** A worker that has not reported for so long does not count in the shares. */
const absentAfterMs = 5 * second
/** After this its lanes may be taken over: it is connected, and does nothing. */
export const silentAfterMs = 12 * second
/** How many reports apart a worker looks for lanes of workers that are no more: there should be none. */
const orphansEvery = 10
/** A worker that lost no more than its connection has joined again by then. */
const graceMs = 600
/**
 * After an outage of the database every worker's lock is gone: the first worker that is back waits so long
 * for the others.
 */
const reunionMs = 3 * second

interface MembershipOptions {
  readonly db: Database
  readonly clock: Clock
  readonly heard: (payload: string) => void
  /** This worker has a number, or a new one. */
  readonly joined: () => void
}

/** What a worker learns of the others. */
export interface ClusterView {
  readonly others: number
  /** The lanes that the other workers hold. */
  readonly lanes: number
  /** A client follows a branch's log on another node. */
  readonly follows: boolean
  /** Workers that seem to be gone. */
  readonly missing: number
  /** Workers that have not reported since then are among them. */
  readonly silentSince: Date
}

export class Membership {
  readonly #options: MembershipOptions
  #member: { readonly id: string; readonly number: number } | undefined
  #listener: Listener | undefined
  /** Every number that this worker has had. */
  readonly #numbers = new Set<number>()
  readonly #joining = openFlights(() => this.#joinOrWait())
  /** By `performance.now()`; the first thing that a new process does is to free what one before it held. */
  #buriesFromMs = 0
  #reports = 0
  #reportedAt = new Date(0)
  /** By `performance.now()`: from when on silence counts. */
  #judgesFromMs = 0
  #graceMs = 0
  #isClosing = false

  constructor(options: MembershipOptions) {
    this.#options = options
  }

  /** Undefined while other workers cannot see that it lives. */
  get number(): number | undefined {
    return this.#listener && this.#member?.number
  }

  get numbers(): ReadonlySet<number> {
    return this.#numbers
  }

  /** Joins, where it is not a member. */
  attend(): void {
    if (!this.#isClosing && !this.#listener) void this.#joining.join()
  }

  /** While the database is away it is tried again and again. */
  async #joinOrWait(): Promise<void> {
    try {
      await this.#join()
    } catch {
      setTimeout(() => this.attend(), openAgainMs).unref()
    }
  }

  async #join(): Promise<void> {
    const { db, clock, heard, joined } = this.#options
    const id = randomUUID()
    const { number } = await db.one(table.giveNumber)
    let opened: Listener | undefined
    opened = await db.listen('countersign_work', heard, () => this.#leave(opened), {
      kind: table.lifeLock,
      number,
    })
    await db.query(table.registerWorker, { id, number, now: clock.now() })
    const former = this.#member
    this.#numbers.add(number)
    if (former)
      for (const part of await findPresentParts(db))
        await poolOf(db, part).query(keepLanes, { part, former: former.number, worker: number })
    this.#listener = opened
    this.#member = { id, number }
    joined()
    if (former) await db.query(table.removeWorker, { id: former.id })
  }

  #leave(listener: Listener | undefined): void {
    if (this.#listener === undefined || this.#listener !== listener) return
    this.#listener = undefined
    this.#buriesFromMs = performance.now() + reunionMs
    this.attend()
  }

  /**
   * Reports that this worker lives, and sees the others; undefined when it could not. By the connection that
   * holds its lock: one that does not answer is left, whether or not it says that it has ended.
   */
  async report(lanes: number, follows: boolean): Promise<ClusterView | undefined> {
    const member = this.#member
    const listener = this.#listener
    if (!member || !listener) return undefined
    const now = this.#options.clock.now()
    const silentSince = this.#findSilence(now)
    const values = {
      id: member.id,
      now,
      lanes,
      absentSince: after(now, -absentAfterMs),
      follows,
      silentSince,
    }
    const reporting = listener.query(table.reportWorker, values, silenceLimitMs)
    const [view] = await reporting.catch((error: unknown) => {
      if (error instanceof DatabaseUnavailable) this.#leave(listener)
      throw error
    })
    // Evicted by another worker: the connection is opened anew, and with it comes a number that counts.
    if (!view) await listener.close().finally(() => this.#leave(listener))
    return view && { ...view, silentSince }
  }

  /**
   * Workers that have not reported since then count as gone; none do, where the clock was moved and the other
   * workers have not yet had the time to report by it.
   */
  #findSilence(now: Date): Date {
    if (Math.abs(now.getTime() - this.#reportedAt.getTime()) > absentAfterMs)
      this.#judgesFromMs = performance.now() + silentAfterMs
    this.#reportedAt = now
    return performance.now() < this.#judgesFromMs ? new Date(0) : after(now, -silentAfterMs)
  }

  /** Frees the lanes of workers that are gone. Answers whether there were any. */
  async evict({ missing, silentSince }: ClusterView): Promise<boolean> {
    const { db, clock } = this.#options
    const isTime = missing > 0 && performance.now() >= this.#buriesFromMs
    const now = clock.now()
    const limits = { missingSince: after(now, -this.#graceMs), silentSince }
    const evicted = isTime ? await db.query(table.evictWorkers, { ...limits, now }) : []
    this.#graceMs = graceMs
    if (evicted.length === 0 && this.#reports++ % orphansEvery !== 0) return false
    let freed = 0
    for (const part of await findPresentParts(db)) {
      const gone = await findGoneHolders(db, part)
      if (gone.length > 0) freed += (await poolOf(db, part).one(freeLanes, { part, workers: gone })).freed
    }
    return freed > 0
  }

  /** Last of all: until then other workers must not take it for dead. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#joining.landed()
    // While the database is away neither is done: others find by its lock that it is gone.
    await this.#listener?.close().catch(() => {})
    if (this.#member)
      await this.#options.db.query(table.removeWorker, { id: this.#member.id }).catch(() => {})
  }
}
