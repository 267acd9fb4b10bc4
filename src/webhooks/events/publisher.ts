/**
 * Publishes that arrive together share a commit, with a key and without: requests with few events, and those
 * with many. Few events that come by themselves are numbered in it, on the node that will send them.
 */
import { sha256 } from '../../crypto/hash.ts'
import { type Batch, openBatch } from '../../database/batch.ts'
import { type Database, type Sql, step } from '../../database/database.ts'
import { Conflict, Invalid } from '../../problem.ts'
import { makeEventUids, type NewEvent, Publication, type PublishedEvent, type Traceparents } from './event.ts'
import * as table from './events.sql.ts'
import { publish } from './log.sql.ts'
import { entriesAtMost, type NumberedBatch, numberedBy } from './numbered-batch.ts'

/** In one statement. */
const eventsAtOnce = 500
/** More are numbered by the sequencer, which takes many at once. */
const numberedAtOnce = 25

/** A publisher that did not hear the answer asks again with the same key (an idempotency key). */
interface Idempotency {
  readonly owner: string
  readonly key: string
}

interface PublishOptions {
  readonly idempotency?: Idempotency | undefined
  /** The span that they are published under, where the publisher traces. */
  readonly traceparent?: string | undefined
}

export interface Publisher {
  /** All of them or none. With a key, the same request again is answered as before and publishes nothing. */
  publish(
    events: readonly NewEvent[],
    now: Date,
    options?: PublishOptions,
  ): Promise<readonly PublishedEvent[]>
}

/** Hears of events that were published, and of those that have numbers already. */
interface NumberingListener {
  /** Something waits in these parts to be numbered. */
  readonly published: (parts: readonly number[]) => void
  readonly numbered: (batch: NumberedBatch) => void
  /**
   * Whether this process delivers: then few events that come by themselves are numbered with their
   * publishing.
   */
  readonly isLocal: boolean
}

const noListener: NumberingListener = { published: () => {}, numbered: () => {}, isLocal: false }

/**
 * The branches of events are looked at first: one unknown branch would fail all that are published with it.
 */
export function openPublisher(db: Database, listener: NumberingListener = noListener): Publisher {
  let place = 0
  const branches = new Set<number>()
  const open = (waitsBelow: number): Batch<PublishRequest, readonly PublishedEvent[]> =>
    openBatch((items) => publishAll(db, listener, items), {
      keyOf: ({ idempotency }) => (idempotency ? printKey(idempotency) : String(place++)),
      sizeOf: (item) => item.events.length,
      maxItems: eventsAtOnce,
      maxInFlight: 2,
      waitsBelow,
    })
  // A lone event neither waits for hundreds that were published together nor leaves with them. A second
  // statement of few beside the first would find the part locked.
  const few = open(numberedAtOnce)
  const many = open(0)
  return {
    async publish(events, now, { idempotency, traceparent } = {}) {
      // A branch that exists goes on existing.
      if (!events.every((event) => branches.has(event.branchId))) {
        await refuseUnknownBranches(db, events)
        for (const event of events) branches.add(event.branchId)
      }
      const batch = events.length <= numberedAtOnce ? few : many
      return batch.run({ events, now, traceparent, idempotency })
    },
  }
}

interface PublishRequest {
  readonly events: readonly NewEvent[]
  readonly now: Date
  readonly traceparent: string | undefined
  readonly idempotency: Idempotency | undefined
}

async function publishAll(
  db: Database,
  listener: NumberingListener,
  items: readonly PublishRequest[],
): Promise<(readonly PublishedEvent[])[]> {
  const stored = items.some((item) => item.idempotency)
    ? await storeOnce(db, listener, items)
    : await storeAll(db, listener, items)
  return Promise.all(items.map(async (item) => stored.get(item) ?? (await repeatAnswer(db, item))))
}

/** One round trip: the events, and where they are few the look that numbers them. */
async function storeAll(
  db: Database,
  listener: NumberingListener,
  items: readonly PublishRequest[],
): Promise<StoredEvents> {
  const publication = publicationOf(items)
  const looks = listener.isLocal && publication.events.length <= numberedAtOnce
  const steps = publication.values(looks ? entriesAtMost : 0).map((values) => step(publish, values))
  const answers = await db.together(steps)
  for (const [place, part] of publication.parts.entries()) {
    const rows = answers[place]!
    if (rows.length > 0) listener.numbered(numberedBy(part, rows))
    else listener.published([part])
  }
  return storedOf(items, publication)
}

/**
 * Keys are taken first: a request that does not get its key finds the answer that the request before it was
 * given.
 */
async function storeOnce(
  db: Database,
  listener: NumberingListener,
  items: readonly PublishRequest[],
): Promise<StoredEvents> {
  const uids = new Map(items.map((item) => [item, makeEventUids(item.events, item.now)]))
  const { winners, publication } = await db.transaction(async (sql) => {
    const taken = await takeKeys(sql, items, uids)
    const winners = items.filter(({ idempotency }) => !idempotency || taken.has(printKey(idempotency)))
    const publication = publicationOf(
      winners,
      winners.flatMap((item) => uids.get(item)!),
    )
    for (const values of publication.values(0)) await sql.query(publish, values)
    return { winners, publication }
  })
  listener.published(publication.parts)
  return storedOf(winners, publication)
}

function publicationOf(items: readonly PublishRequest[], uids?: readonly string[]): Publication {
  const events = items.flatMap((item) => item.events)
  return new Publication(events, items[0]?.now ?? new Date(0), traceparentsOf(items), uids)
}

function storedOf(items: readonly PublishRequest[], publication: Publication): StoredEvents {
  const all = publication.published()
  return new Map(items.map((item) => [item, all.splice(0, item.events.length)]))
}

/** Of the events of each. */
type Uids = ReadonlyMap<PublishRequest, readonly string[]>

type StoredEvents = ReadonlyMap<PublishRequest, readonly PublishedEvent[]>

const printKey = ({ owner, key }: Idempotency) => `${owner} ${key}`

async function takeKeys(
  sql: Sql,
  items: readonly PublishRequest[],
  uids: Uids,
): Promise<ReadonlySet<string>> {
  const keyed = items.filter((item) => item.idempotency)
  const rows = await sql.query(table.insertIdempotencyKeys, {
    owners: keyed.map((item) => item.idempotency!.owner),
    keys: keyed.map((item) => item.idempotency!.key),
    requestHashes: keyed.map((item) => hashOf(item.events)),
    eventUids: keyed.map((item) => `{${uids.get(item)!.join(',')}}`),
    now: items[0]!.now,
  })
  return new Set(rows.map(printKey))
}

/** Without the trace: a client that repeats a request does it under another span. */
function hashOf(events: readonly NewEvent[]): Buffer {
  return sha256(JSON.stringify(events))
}

function traceparentsOf(items: readonly PublishRequest[]): Traceparents {
  if (items.every((item) => item.traceparent === undefined)) return undefined
  return items.flatMap(({ events, traceparent }) => events.map(() => traceparent))
}

async function repeatAnswer(
  sql: Sql,
  { events, idempotency }: PublishRequest,
): Promise<readonly PublishedEvent[]> {
  const { owner, key } = idempotency!
  const [stored] = await sql.query(table.selectIdempotencyKey, { owner, key })
  if (!stored?.requestHash.equals(hashOf(events)))
    throw new Conflict('This idempotency key was used for another request. Choose a new one.')
  return stored.eventUids.map((uid) => ({ uid }))
}

async function refuseUnknownBranches(sql: Sql, events: readonly NewEvent[]): Promise<void> {
  const branchIds = [...new Set(events.map((event) => event.branchId))]
  const known = new Set((await sql.query(table.selectBranches, { branchIds })).map((row) => row.branchId))
  const problems = events.flatMap((event, index) =>
    known.has(event.branchId) ? [] : [{ field: `events.${index}.branchId`, problem: 'names no branch' }],
  )
  if (problems.length > 0) throw new Invalid(problems)
}
