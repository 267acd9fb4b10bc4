/**
 * Gives what was published its numbers, part by part. Any node may: the part's row lets one at a time. What it appended it hands on, so that lanes of this
 * node need not read it.
 */
import type { Logger } from 'pino'
import type { Clock } from '../../clock.ts'
import type { Database, Sql, Step } from '../../database/database.ts'
import type { LogEntry } from './entry.ts'
import { look, tryLook } from './log.sql.ts'

const entriesAtMost = 1_000
const partsAtOnce = 2

/** An entry that has just been numbered. */
interface Numbered extends LogEntry {
  readonly feed: number
}

export interface Looked {
  readonly part: number
  readonly entries: readonly Numbered[]
  /** How many lanes were woken. */
  readonly woken: number
}

export interface NumberedRow extends Numbered {
  readonly woken: number
}

/** Where nobody else is at the part, what a transaction publishes can be numbered within it. */
export function tryLooking(part: number, now: Date): Step {
  return [tryLook, [part, now, entriesAtMost]]
}

export function lookedAt(part: number, rows: readonly NumberedRow[]): Looked {
  return { part, entries: rows, woken: rows[0]?.woken ?? 0 }
}

export function looking(part: number, now: Date): Step {
  return [look, [part, now, entriesAtMost, 0]]
}

export async function lookAt(sql: Sql, part: number, now: Date): Promise<Looked> {
  return lookedAt(part, await sql.query<NumberedRow>(...looking(part, now)))
}

interface SequencerOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly looked: (looked: Looked) => void
}

export class Sequencer {
  readonly #options: SequencerOptions
  readonly #wanted = new Set<number>()
  readonly #running = new Map<number, Promise<void>>()
  #isClosing = false

  constructor(options: SequencerOptions) {
    this.#options = options
  }

  /** Something was published in this part. */
  wake(part: number): void {
    this.#wanted.add(part)
    this.#start()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.#running.values())
  }

  #start(): void {
    for (const part of this.#wanted) {
      if (this.#isClosing || this.#running.size >= partsAtOnce) return
      if (this.#running.has(part)) continue
      const run = this.#lookUntilEmpty(part).finally(() => {
        this.#running.delete(part)
        this.#start()
      })
      this.#running.set(part, run)
    }
  }

  async #lookUntilEmpty(part: number): Promise<void> {
    const { db, clock, log, looked } = this.#options
    while (this.#wanted.has(part) && !this.#isClosing) {
      this.#wanted.delete(part)
      try {
        const found = await lookAt(db, part, clock.now())
        if (found.entries.length === entriesAtMost) this.#wanted.add(part)
        if (found.entries.length > 0) looked(found)
      } catch (error) {
        if (!this.#isClosing) log.warn({ err: error }, 'the sequencer was interrupted; it goes on by itself')
        return
      }
    }
  }
}
