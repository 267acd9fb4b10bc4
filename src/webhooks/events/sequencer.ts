/**
 * Gives published events their numbers, part by part. Any node may: the lock of the part's row lets one
 * sequencer at a time. It hands on what it appended, so that lanes of this node need not read it.
 */
import type { Logger } from 'pino'
import type { Clock } from '../../clock.ts'
import { Bell } from '../../concurrency/bell.ts'
import type { Database } from '../../database/database.ts'
import { carry } from './carrier.ts'
import { look } from './log.sql.ts'
import { entriesAtMost, type NumberedBatch, numberedBy } from './numbered-batch.ts'
import { isDistributed, poolOf } from './part.ts'

interface LookOptions {
  readonly now: Date
  /** Told of what has got numbers. */
  readonly numbered: (batch: NumberedBatch) => void
}

/**
 * Numbers what became visible in a part; answers whether there may be more. Where parts lie on other servers,
 * what was published beside the publishers is carried there.
 */
export async function lookAt(db: Database, part: number, options: LookOptions): Promise<boolean> {
  if (isDistributed()) return carry(db, part, options)
  const { now, numbered } = options
  const rows = await poolOf(db, part).query(look, { part, now, most: entriesAtMost })
  if (rows.length > 0) numbered(numberedBy(part, rows))
  return rows.length === entriesAtMost
}

/** Of one server, parts at once: the pool's other connections are for requests and housekeeping. */
const looksAtOnce = 2

interface SequencerOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly numbered: LookOptions['numbered']
}

export class Sequencer {
  readonly #options: SequencerOptions
  readonly #wanted = new Set<number>()
  readonly #busy = new Set<number>()
  readonly #bell = new Bell()
  #isClosing = false

  constructor(options: SequencerOptions) {
    this.#options = options
  }

  /** Something was published in this part. */
  wake(part: number): void {
    this.#wanted.add(part)
    this.#bell.ring()
  }

  /** Until it is closed. One may run for each part. */
  async run(): Promise<void> {
    while (!this.#isClosing) {
      const part = [...this.#wanted].find((each) => this.#mayLook(each))
      if (part === undefined) await this.#bell.rung
      else await this.#lookAt(part)
    }
  }

  close(): void {
    this.#isClosing = true
    this.#bell.ring()
  }

  /** A server that hangs keeps its own parts waiting, and no others. */
  #mayLook(part: number): boolean {
    if (this.#busy.has(part)) return false
    const { db } = this.#options
    const server = poolOf(db, part)
    return [...this.#busy].filter((each) => poolOf(db, each) === server).length < looksAtOnce
  }

  async #lookAt(part: number): Promise<void> {
    this.#wanted.delete(part)
    this.#busy.add(part)
    try {
      const { db, clock, numbered } = this.#options
      if (await lookAt(db, part, { now: clock.now(), numbered })) this.#wanted.add(part)
    } catch (error) {
      if (!this.#isClosing)
        this.#options.log.warn({ err: error }, 'the sequencer was interrupted; it goes on by itself')
    } finally {
      this.#busy.delete(part)
      if (this.#wanted.size > 0) this.#bell.ring()
    }
  }
}
