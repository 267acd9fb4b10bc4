/**
 * The newest entries of a feed's log as a node knows them, read once for all lanes of the node. Bounded in bytes: what is gone from here is read again.
 */
import type { Database } from '../../database/database.ts'
import { openFlights } from '../../single-flight.ts'
import type { LogEntry } from './entry.ts'
import { readLog } from './log.sql.ts'
import { branchOfFeed, partOf } from './part.ts'

const pageEntries = 500
const pageBytes = 1024 * 1024
const keptBytes = 2 * 1024 * 1024
/** Of an entry beside its body. */
const overheadBytes = 400

export class Feed {
  readonly id: number
  readonly part: number
  readonly #db: Database
  readonly #entries = new Map<number, LogEntry>()
  #bytes = 0
  #head = 0
  /** Entries below have left. */
  #first = 1
  /** Told when there is more to read. */
  readonly grown = new Set<() => void>()
  readonly #reads = openFlights(
    (after: number) => this.#readPage(after),
    (after) => after,
  )

  constructor(db: Database, id: number) {
    this.#db = db
    this.id = id
    this.part = partOf(branchOfFeed(id).branchId)
  }

  /** The highest number that this node knows of. */
  get head(): number {
    return this.#head
  }

  get first(): number {
    return this.#first
  }

  find(seq: number): LogEntry | undefined {
    return this.#entries.get(seq)
  }

  /** The log has grown; `entries`, where they are at hand, are the newest. */
  append(head: number, entries: readonly LogEntry[] = []): void {
    if (head <= this.#head) return
    this.#head = head
    for (const entry of entries) this.#keep(entry)
    this.#tell()
  }

  /** Reads the entries after a number. */
  read(after: number): Promise<void> {
    return this.#reads.join(after)
  }

  async #readPage(after: number): Promise<void> {
    const values = [this.part, this.id, after, pageEntries, pageBytes]
    const entries = await this.#db.query<LogEntry>(readLog, values)
    // What would come next has left with its day.
    this.#first = Math.max(this.#first, entries[0]?.seq === after + 1 ? 0 : (entries[0]?.seq ?? this.#head + 1))
    for (const entry of entries) this.#keep(entry)
    this.#head = Math.max(this.#head, entries.at(-1)?.seq ?? 0)
    this.#tell()
  }

  #keep(entry: LogEntry): void {
    if (this.#entries.has(entry.seq)) return
    this.#entries.set(entry.seq, entry)
    this.#bytes += entry.body.length + overheadBytes
    for (const [seq, oldest] of this.#entries) {
      if (this.#bytes <= keptBytes || seq === entry.seq) break
      this.#entries.delete(seq)
      this.#bytes -= oldest.body.length + overheadBytes
    }
  }

  #tell(): void {
    for (const tell of this.grown) tell()
  }
}
