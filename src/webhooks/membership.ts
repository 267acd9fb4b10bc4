/**
 * Who delivers, and who of them lives (a failure detector). The connection by which a worker hears of work holds the lock of its number: PostgreSQL lets
 * go of it when the process is gone, and whoever sees that gives the dead one's lanes to somebody. A worker that loses the connection and lives takes a
 * new number; what it holds is its own when it has been confirmed.
 */
import { randomUUID } from 'node:crypto'
import { after, type Clock, second } from '../clock.ts'
import { type Database, DatabaseUnavailable, type Listener } from '../database/database.ts'
import { statementLimitMs } from '../database/statement-limit.ts'
import { openFlights } from '../single-flight.ts'
import * as table from './workers.sql.ts'

/** A connection that hears of work and is silent for longer is opened anew. */
const silenceLimitMs = 2_500
const openAgainMs = 250
/** A worker that has said nothing for so long is not counted on. */
const absentAfterMs = 3 * second
/** Nor are its lanes its own. */
export const leaseMs = 12 * second
/** A statement that it sends until then ends before the others take its lanes. */
const standingMs = statementLimitMs + second
/** Lanes that nobody holds, and are held for nobody: there should be none. */
const orphansEvery = 10
/** Somebody who lost no more than the connection is back by then. */
const graceMs = 600
/** When the database itself was away, everybody's lock is gone: whoever is back first waits for the others. */
const reunionMs = 3 * second

interface MembershipDesk {
  readonly db: Database
  readonly clock: Clock
  readonly heard: (payload: string) => void
  /** This worker has a number, or a new one: others see that it lives. */
  readonly joined: (number: number, leasedUntilMs: number) => void
  /** Until it joins again, others may take it for dead. */
  readonly lost: () => void
}

/** What a worker learns of the others. */
export interface Company {
  readonly others: number
  /** That they hold. */
  readonly lanes: number
  /** Somebody follows a branch's log on another node. */
  readonly follows: boolean
  /** Who is gone, by the look of it. */
  readonly missing: number
  /** Who has said nothing since then is one of them. */
  readonly silentSince: Date
  /** By `performance.now()`: until then what this worker holds is its own. */
  readonly leasedUntilMs: number
}

export class Membership {
  readonly #desk: MembershipDesk
  #member: { readonly id: string; readonly number: number } | undefined
  #listener: Listener | undefined
  readonly #joining = openFlights(() =>
    this.#join().catch(() => void setTimeout(() => this.attend(), openAgainMs).unref()),
  )
  /** By `performance.now()`; the first thing that a new process does is to free what one before it held. */
  #buriesFromMs = 0
  #standsUntilMs = 0
  #reports = 0
  #reportedAt = new Date(0)
  #graceMs = 0
  #closing = false

  constructor(desk: MembershipDesk) {
    this.#desk = desk
  }

  /** By which it was last seen; others may have taken it for gone since. */
  get lastNumber(): number | undefined {
    return this.#listener && this.#member?.number
  }

  /** Undefined while others cannot see that it lives. */
  get number(): number | undefined {
    return this.#listener && performance.now() < this.#standsUntilMs ? this.#member?.number : undefined
  }

  /** Joins, where it is not a member. */
  attend(): void {
    if (!this.#closing && !this.#listener) void this.#joining.join()
  }

  async #join(): Promise<void> {
    const { db, clock, heard } = this.#desk
    const id = randomUUID()
    const startedMs = performance.now()
    const [row] = await db.query<{ number: number }>(table.registerWorker, [id, clock.now()])
    const lock = { kind: table.lifeLock, number: row!.number }
    let opened: Listener | undefined
    opened = await db.listen('countersign_work', heard, () => this.#leave(opened), lock)
    this.#listener = opened
    const former = this.#member?.id
    this.#member = { id, number: row!.number }
    this.#standsUntilMs = startedMs + standingMs
    this.#desk.joined(row!.number, startedMs + leaseMs)
    if (former) await db.query(table.removeWorker, [former])
  }

  #leave(listener: Listener | undefined): void {
    if (this.#listener === undefined || this.#listener !== listener) return
    this.#listener = undefined
    this.#buriesFromMs = performance.now() + reunionMs
    this.#desk.lost()
    this.attend()
  }

  /**
   * Says that this worker is there, and sees who else is; undefined when it could not. By the connection that holds its lock: one that
   * does not answer is left, whether or not it says that it has ended.
   */
  async report(lanes: number, follows: boolean): Promise<Company | undefined> {
    const member = this.#member
    const listener = this.#listener
    if (!member || !listener) return undefined
    const now = this.#desk.clock.now()
    const startedMs = performance.now()
    const silentSince = this.#findSilence(now)
    const values = [member.id, now, lanes, after(now, -absentAfterMs), follows, silentSince]
    const asked = listener.query<Company>(table.reportWorker, values, silenceLimitMs)
    const [company] = await asked.catch((error: unknown) => {
      if (error instanceof DatabaseUnavailable) this.#leave(listener)
      throw error
    })
    if (company) this.#standsUntilMs = startedMs + standingMs
    // Taken for gone: the connection is opened anew, and with it comes a number that counts.
    else await listener.close().finally(() => this.#leave(listener))
    return company && { ...company, silentSince, leasedUntilMs: startedMs + leaseMs }
  }

  /** Who has said nothing since then is gone; nobody, when the clock was moved on and has not been looked at by the others yet. */
  #findSilence(now: Date): Date {
    const wasMoved = now.getTime() - this.#reportedAt.getTime() > absentAfterMs
    this.#reportedAt = now
    return wasMoved ? new Date(0) : after(now, -leaseMs)
  }

  /** Answers whether any lanes are free that were not. */
  async bury({ missing, silentSince }: Company): Promise<boolean> {
    const { db, clock } = this.#desk
    const now = clock.now()
    const isTime = missing > 0 && performance.now() >= this.#buriesFromMs
    const buried = isTime ? await db.query(table.buryWorkers, [after(now, -this.#graceMs), silentSince]) : []
    this.#graceMs = graceMs
    if (buried.length === 0 && this.#reports++ % orphansEvery !== 0) return false
    return (await db.query(table.freeLanes, [now])).length > 0
  }

  /** Last of all: until then others must not take it for dead. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#joining.landed()
    await this.#listener?.close().catch(() => {})
    if (this.#member) await this.#desk.db.query(table.removeWorker, [this.#member.id]).catch(() => {})
  }
}
