/**
 * The newest entries of a feed's log as a node knows them, read once for all lanes of the node. Bounded in
 * bytes, each feed and all together: what is gone from here is read again.
 */

import { openFlights } from '../../concurrency/single-flight.ts'
import type { Database } from '../../database/database.ts'
import type { LogEntry } from './entry.ts'
import { readLog } from './log.sql.ts'
import { branchOfFeed, partOf, poolOf } from './part.ts'

const pageEntries = 500
const pageBytes = 1024 * 1024
const keptBytes = 2 * 1024 * 1024
/** Of an entry beside its body. */
const overheadBytes = 400

/** Of all feeds of a node: the one that has grown least lately makes room. */
const roomBytes = 64 * 1024 * 1024

export class FeedRoom {
  readonly #feeds = new Set<Feed>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** This one has grown by so much. */
  add(feed: Feed, bytes: number): void {
    this.#bytes += bytes
    this.#feeds.delete(feed)
    this.#feeds.add(feed)
    for (const oldest of this.#feeds) {
      if (this.#bytes <= roomBytes || oldest === feed) return
      oldest.forget()
    }
  }

  remove(feed: Feed, bytes: number): void {
    this.#bytes -= bytes
    this.#feeds.delete(feed)
  }
}

export class Feed {
  readonly id: number
  readonly part: number
  readonly #db: Database
  readonly #room: FeedRoom
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

  constructor(db: Database, id: number, room = new FeedRoom()) {
    this.#db = db
    this.#room = room
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

  /** Lanes that need it read all of it again. */
  forget(): void {
    this.#room.remove(this, this.#bytes)
    this.#entries.clear()
    this.#bytes = 0
  }

  find(seq: number): LogEntry | undefined {
    return this.#entries.get(seq)
  }

  /** The log has grown; `entries`, where they are at hand, are the newest. */
  append(head: number, entries: readonly LogEntry[] = []): void {
    if (head <= this.#head) return
    this.#head = head
    this.#keepAll(entries)
    this.#tell()
  }

  /** Reads the entries after a number. */
  read(after: number): Promise<void> {
    return this.#reads.join(after)
  }

  async #readPage(after: number): Promise<void> {
    const values = { part: this.part, feed: this.id, after, most: pageEntries, bytes: pageBytes }
    const entries = await poolOf(this.#db, this.part).query(readLog, values)
    // What would come next has left with its day.
    this.#first = Math.max(
      this.#first,
      entries[0]?.seq === after + 1 ? 0 : (entries[0]?.seq ?? this.#head + 1),
    )
    this.#keepAll(entries)
    this.#head = Math.max(this.#head, entries.at(-1)?.seq ?? 0)
    this.#tell()
  }

  #keepAll(entries: readonly LogEntry[]): void {
    const before = this.#bytes
    for (const entry of entries) this.#keep(entry)
    if (entries.length > 0) this.#room.add(this, this.#bytes - before)
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
