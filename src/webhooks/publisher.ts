/**
 * Publishes that arrive together share a commit, with a key and without. Few that come while nothing waits take the short cut: accepted, dispatched
 * and in hand in one transaction.
 */
import { sha256 } from '../crypto/hash.ts'
import { type Batch, openBatch } from '../database/batch.ts'
import { type Database, isBlocked, type Sql } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import {
  EventColumns,
  insertColumns,
  makeEventUids,
  type NewEvent,
  type PublishedEvent,
  type Traceparents,
} from './event.ts'
import * as table from './events.sql.ts'
import { partOf } from './part.ts'
import { eventsAtMost, type Passage, type PassedRow, type ShortCut } from './short-cut.ts'

/** In one statement. */
const eventsAtOnce = 500

/** A publisher that did not hear the answer asks again with the same key (an idempotency key). */
export interface Idempotency {
  readonly owner: string
  readonly key: string
}

interface PublishOptions {
  readonly idempotency?: Idempotency | undefined
  /** The span that they are published under, where somebody traces. */
  readonly traceparent?: string | undefined
}

export interface Publisher {
  /** All of them or none. With a key, the same request again is answered as before and publishes nothing: then their numbers are unknown. */
  publish(events: readonly NewEvent[], now: Date, options?: PublishOptions): Promise<readonly PublishedEvent[]>
}

interface PublisherDesk {
  /** Something waits in these parts to be dispatched. */
  readonly published: (parts: ReadonlySet<number>) => void
  readonly shortCut: ShortCut | undefined
}

const nobody: PublisherDesk = { published: () => {}, shortCut: undefined }

/** The branches of events are looked at first: one stranger would fail all that are published with it. */
export function openPublisher(db: Database, desk: PublisherDesk = nobody): Publisher {
  let place = 0
  const branches = new Set<number>()
  const batch: Batch<Publishing, readonly PublishedEvent[]> = openBatch((items) => publishAll(db, desk, items), {
    keyOf: ({ idempotency }) => (idempotency ? printKey(idempotency) : String(place++)),
    sizeOf: (item) => item.events.length,
    maxItems: eventsAtOnce,
    maxInFlight: 2,
    // A second statement beside it would find the parts taken.
    waitsBelow: eventsAtMost,
  })
  return {
    async publish(events, now, { idempotency, traceparent } = {}) {
      // A branch that exists goes on existing.
      if (!events.every((event) => branches.has(event.branchId))) {
        await refuseUnknownBranches(db, events)
        for (const event of events) branches.add(event.branchId)
      }
      return batch.run({ events, now, traceparent, idempotency })
    },
  }
}

interface Publishing {
  readonly events: readonly NewEvent[]
  readonly now: Date
  readonly traceparent: string | undefined
  readonly idempotency: Idempotency | undefined
}

/** Somebody holds the part for longer than a moment: nothing was stored, and the ordinary way waits for nobody. */
async function publishAll(
  db: Database,
  desk: PublisherDesk,
  items: readonly Publishing[],
): Promise<(readonly PublishedEvent[])[]> {
  try {
    return await publishTogether(db, desk, items)
  } catch (error) {
    if (!isBlocked(error)) throw error
    return publishTogether(db, { published: desk.published, shortCut: undefined }, items)
  }
}

async function publishTogether(
  db: Database,
  desk: PublisherDesk,
  items: readonly Publishing[],
): Promise<(readonly PublishedEvent[])[]> {
  const stored = items.some((item) => item.idempotency)
    ? await storeOnce(db, desk, items)
    : await new Storing(desk, items).alone(db)
  return Promise.all(items.map(async (item) => stored.get(item) ?? (await repeatAnswer(db, item))))
}

/**
 * Keys are taken first: whoever does not get one finds what the request before was answered. As a rule all of them are new: then nobody waits for the
 * keys before the events are on their way, and where one is not, everything is undone and done again without its request.
 */
async function storeOnce(db: Database, desk: PublisherDesk, items: readonly Publishing[]): Promise<Stored> {
  const uids = new Map(items.map((item) => [item, makeEventUids(item.events, item.now)]))
  const makeStoring = (winners: readonly Publishing[]) =>
    new Storing(
      desk,
      winners,
      winners.flatMap((item) => uids.get(item)!),
    )
  const all = makeStoring(items)
  try {
    await db.transaction(async (sql) => {
      const [taken] = await Promise.all([takeKeys(sql, items, uids), all.within(sql)])
      if (!items.every((item) => hasKey(item, taken))) throw keysAreTaken
    })
  } catch (error) {
    all.fail()
    if (error !== keysAreTaken) throw error
    return storeOfWinners(db, items, uids, makeStoring)
  }
  return all.finish()
}

const keysAreTaken = new Error('Some of the keys were used before.')

function hasKey({ idempotency }: Publishing, taken: ReadonlySet<string>): boolean {
  return !idempotency || taken.has(printKey(idempotency))
}

async function storeOfWinners(
  db: Database,
  items: readonly Publishing[],
  uids: Uids,
  makeStoring: (winners: readonly Publishing[]) => Storing,
): Promise<Stored> {
  let storing: Storing | undefined
  try {
    await db.transaction(async (sql) => {
      const taken = await takeKeys(sql, items, uids)
      const winners = items.filter((item) => hasKey(item, taken))
      if (winners.length === 0) return
      storing = makeStoring(winners)
      await storing.within(sql)
    })
  } catch (error) {
    storing?.fail()
    throw error
  }
  return storing?.finish() ?? new Map()
}

/** Of the events of each. */
type Uids = ReadonlyMap<Publishing, readonly string[]>

type Stored = ReadonlyMap<Publishing, readonly PublishedEvent[]>

/** Events on their way into the database, by the short cut if it is open. What follows from them happens when they are committed. */
class Storing {
  readonly #desk: PublisherDesk
  readonly #items: readonly Publishing[]
  readonly #columns: EventColumns
  readonly #passage: Passage | undefined
  #passed: readonly PassedRow[] = []
  #stored: readonly PublishedEvent[] = []

  constructor(desk: PublisherDesk, items: readonly Publishing[], uids?: readonly string[]) {
    this.#desk = desk
    this.#items = items
    const events = items.flatMap((item) => item.events)
    this.#columns = new EventColumns(events, items[0]!.now, traceparentsOf(items), uids)
    this.#passage = desk.shortCut?.passage(this.#columns)
  }

  /** In a transaction of their own. */
  async alone(db: Database): Promise<Stored> {
    try {
      await this.#store(db, async ({ steps }) => (await db.together<PassedRow>(steps)).at(-1)!)
    } catch (error) {
      this.fail()
      throw error
    }
    return this.finish()
  }

  /** In somebody's transaction, who calls `finish` when it has committed, and `fail` when nobody knows. */
  within(sql: Sql): Promise<void> {
    return this.#store(
      sql,
      async ({ steps }) => (await Promise.all(steps.map((step) => sql.query<PassedRow>(...step)))).at(-1)!,
    )
  }

  /** The ordinary way is always open. */
  async #store(sql: Sql, pass: (passage: Passage) => Promise<PassedRow[]>): Promise<void> {
    if (this.#passage) this.#passed = await pass(this.#passage)
    if (this.#passed.length === 0) this.#stored = await insertColumns(sql, this.#columns, this.#items[0]!.now)
  }

  /** Nobody knows whether they were committed. */
  fail(): void {
    this.#passage?.failed()
  }

  finish(): Stored {
    const passed = this.#passed.length > 0 ? this.#passage!.arrived(this.#passed) : undefined
    const all = passed ? this.#columns.published(passed.ids) : [...this.#stored]
    this.#desk.published(passed?.waiting ?? new Set(this.#columns.events.map((event) => partOf(event.branchId))))
    return new Map(this.#items.map((item) => [item, all.splice(0, item.events.length)]))
  }
}

const printKey = ({ owner, key }: Idempotency) => `${owner} ${key}`

async function takeKeys(sql: Sql, items: readonly Publishing[], uids: Uids): Promise<ReadonlySet<string>> {
  const keyed = items.filter((item) => item.idempotency)
  const rows = await sql.query<Idempotency>(table.insertIdempotencyKeys, [
    keyed.map((item) => item.idempotency!.owner),
    keyed.map((item) => item.idempotency!.key),
    keyed.map((item) => hashOf(item.events)),
    keyed.map((item) => `{${uids.get(item)!.join(',')}}`),
    items[0]!.now,
  ])
  return new Set(rows.map(printKey))
}

/** Without the trace: who asks again asks under another span. */
function hashOf(events: readonly NewEvent[]): Buffer {
  return sha256(JSON.stringify(events))
}

function traceparentsOf(items: readonly Publishing[]): Traceparents {
  if (items.every((item) => item.traceparent === undefined)) return undefined
  return items.flatMap(({ events, traceparent }) => events.map(() => traceparent))
}

interface StoredKey {
  readonly requestHash: Buffer
  readonly eventUids: string[]
}

async function repeatAnswer(sql: Sql, { events, idempotency }: Publishing): Promise<readonly PublishedEvent[]> {
  const { owner, key } = idempotency!
  const [stored] = await sql.query<StoredKey>(table.selectIdempotencyKey, [owner, key])
  if (!stored?.requestHash.equals(hashOf(events)))
    throw new Conflict('This idempotency key was used for another request. Choose a new one.')
  return stored.eventUids.map((uid) => ({ id: 0, uid }))
}

async function refuseUnknownBranches(sql: Sql, events: readonly NewEvent[]): Promise<void> {
  const asked = [...new Set(events.map((event) => event.branchId))]
  const known = new Set(
    (await sql.query<{ branchId: number }>(table.selectBranches, [asked])).map((row) => row.branchId),
  )
  const problems = events.flatMap((event, index) =>
    known.has(event.branchId) ? [] : [{ field: `events.${index}.branchId`, problem: 'names no branch' }],
  )
  if (problems.length > 0) throw new Invalid(problems)
}
