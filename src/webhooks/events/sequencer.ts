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

/**
 * Numbers what became visible in a part. Where parts lie on other servers, what was published beside the
 * publishers is carried there.
 */
export async function lookAt(db: Database, part: number, now: Date): Promise<NumberedBatch> {
  if (isDistributed()) return carry(db, part, now)
  return numberedBy(part, await poolOf(db, part).query(look, { part, now, most: entriesAtMost }))
}

/** Of one server, parts at once: the pool's other connections are for requests and housekeeping. */
const looksAtOnce = 2

interface SequencerOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
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

  /** What was numbered, look by look, until it is closed. One may run for each part. */
  async *run(): AsyncGenerator<NumberedBatch, void, void> {
    while (!this.#isClosing) {
      const part = [...this.#wanted].find((each) => this.#mayLook(each))
      if (part === undefined) await this.#bell.rung
      else yield* this.#lookAt(part)
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

  async *#lookAt(part: number): AsyncGenerator<NumberedBatch, void, void> {
    const { db, clock, log } = this.#options
    this.#wanted.delete(part)
    this.#busy.add(part)
    try {
      const batch = await lookAt(db, part, clock.now())
      if (batch.isMore) this.#wanted.add(part)
      if (batch.entries.length > 0) yield batch
    } catch (error) {
      if (!this.#isClosing) log.warn({ err: error }, 'the sequencer was interrupted; it goes on by itself')
    } finally {
      this.#busy.delete(part)
      if (this.#wanted.size > 0) this.#bell.ring()
    }
  }
}
