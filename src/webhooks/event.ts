/** What happened. Stored with everything needed to deliver it; publishes that arrive together share a commit. */
import { randomUUID } from 'node:crypto'
import { sha256 } from '../crypto/hash.ts'
import { type Batch, openBatch } from '../database/batch.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { Conflict, Invalid } from '../problem.ts'
import { dayOf, dayOfId, openDay } from './days.ts'
import * as table from './events.sql.ts'
import type { Kind } from './kind.ts'
import { partOf } from './part.ts'
import type { Branch } from './webhook.ts'

/** In one statement. */
const eventsAtOnce = 500

export interface NewEvent {
  readonly environment: Environment
  readonly branchId: number
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  readonly body: string
  readonly simulated: boolean
}

export interface PublishedEvent {
  readonly id: number
  readonly uid: string
}

/** A publisher that did not hear the answer asks again with the same key. */
export interface Idempotency {
  readonly owner: string
  readonly key: string
}

export interface PublishOptions {
  readonly idempotency?: Idempotency | undefined
  /** The span that they are published under, where somebody traces. */
  readonly traceparent?: string | undefined
}

export interface Publisher {
  /** All of them or none. With a key, the same request again is answered as before and publishes nothing: then their numbers are unknown. */
  publish(events: readonly NewEvent[], now: Date, options?: PublishOptions): Promise<readonly PublishedEvent[]>
}

/** The name a receiver sees: the same on every attempt. */
export function printEventId(uid: string): string {
  return `evt_${uid.replaceAll('-', '')}`
}

/** Publishes of one moment share a commit, with a key and without. Their branches are looked at first: one stranger would fail them all. */
export function openPublisher(db: Database, published: (parts: ReadonlySet<number>) => void = () => {}): Publisher {
  let place = 0
  const branches = new Set<number>()
  const batch: Batch<Publishing, readonly PublishedEvent[]> = openBatch((items) => publishTogether(db, items), {
    keyOf: ({ idempotency }) => (idempotency ? `${idempotency.owner} ${idempotency.key}` : String(place++)),
    sizeOf: (item) => item.events.length,
    maxItems: eventsAtOnce,
    maxInFlight: 2,
  })
  return {
    async publish(events, now, { idempotency, traceparent } = {}) {
      // A branch that exists goes on existing.
      if (!events.every((event) => branches.has(event.branchId))) {
        await refuseUnknownBranches(db, events)
        for (const event of events) branches.add(event.branchId)
      }
      const answer = await batch.run({ events, now, traceparent, idempotency })
      published(new Set(events.map((event) => partOf(event.branchId))))
      return answer
    },
  }
}

interface Publishing {
  readonly events: readonly NewEvent[]
  readonly now: Date
  readonly traceparent: string | undefined
  readonly idempotency: Idempotency | undefined
}

function publishTogether(db: Database, items: readonly Publishing[]): Promise<(readonly PublishedEvent[])[]> {
  return items.some((item) => item.idempotency) ? publishOnce(db, items) : insertTogether(db, items)
}

async function insertTogether(
  sql: Sql,
  items: readonly Publishing[],
  uids?: readonly string[],
): Promise<PublishedEvent[][]> {
  if (items.length === 0) return []
  const events = items.flatMap((item) => item.events)
  const all = await insertEvents(sql, events, items[0]!.now, traceparentsOf(items), uids)
  return items.map(({ events }) => all.splice(0, events.length))
}

/** Keys are taken first: whoever does not get one finds what the request before was answered. */
async function publishOnce(db: Database, items: readonly Publishing[]): Promise<(readonly PublishedEvent[])[]> {
  const published = await db.transaction(async (sql) => {
    const uids = new Map(items.map((item) => [item, item.events.map(() => randomUUID() as string)]))
    const taken = await takeKeys(sql, items, uids)
    const winners = items.filter((item) => !item.idempotency || taken.has(printKey(item.idempotency)))
    const stored = await insertTogether(
      sql,
      winners,
      winners.flatMap((item) => uids.get(item)!),
    )
    return new Map(winners.map((item, index) => [item, stored[index]!]))
  })
  return Promise.all(items.map(async (item) => published.get(item) ?? (await repeatAnswer(db, item))))
}

const printKey = ({ owner, key }: Idempotency) => `${owner} ${key}`

async function takeKeys(
  sql: Sql,
  items: readonly Publishing[],
  uids: ReadonlyMap<Publishing, readonly string[]>,
): Promise<ReadonlySet<string>> {
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

type Traceparents = readonly (string | undefined)[] | undefined

/** One an event; undefined while nobody traces, so that the statement has nothing more to do. */
function traceparentsOf(items: readonly Publishing[]): Traceparents {
  if (items.every((item) => item.traceparent === undefined)) return undefined
  return items.flatMap(({ events, traceparent }) => events.map(() => traceparent))
}

export async function insertEvents(
  sql: Sql,
  events: readonly NewEvent[],
  now: Date,
  traceparents?: Traceparents,
  uids: readonly string[] = events.map(() => randomUUID()),
): Promise<PublishedEvent[]> {
  const day = dayOf(now)
  const values = [
    uids,
    events.map((event) => event.environment),
    events.map((event) => event.branchId),
    events.map((event) => event.kind),
    events.map((event) => event.action),
    events.map((event) => event.entity),
    events.map((event) => event.body),
    events.map((event) => event.simulated),
    now,
    traceparents,
    day,
  ]
  let rows = await sql.query<{ id: number }>(table.insertEvents, values)
  if (rows.length === 0 && events.length > 0) {
    // The housekeeping opens days ahead; whoever comes before it opens this one.
    await sql.query(openDay, [day])
    rows = await sql.query<{ id: number }>(table.insertEvents, values)
  }
  return rows.map(({ id }, index) => ({ id, uid: uids[index]! }))
}

interface StoredKey {
  readonly request_hash: Buffer
  readonly event_uids: string[]
}

async function repeatAnswer(sql: Sql, { events, idempotency }: Publishing): Promise<readonly PublishedEvent[]> {
  const { owner, key } = idempotency!
  const [stored] = await sql.query<StoredKey>(table.selectIdempotencyKey, [owner, key])
  if (!stored?.request_hash.equals(hashOf(events)))
    throw new Conflict('This idempotency key was used for another request. Choose a new one.')
  return stored.event_uids.map((uid) => ({ id: 0, uid }))
}

async function refuseUnknownBranches(sql: Sql, events: readonly NewEvent[]): Promise<void> {
  const asked = [...new Set(events.map((event) => event.branchId))]
  const known = new Set(
    (await sql.query<{ branch_id: number }>(table.selectBranches, [asked])).map((row) => row.branch_id),
  )
  const problems = events.flatMap((event, index) =>
    known.has(event.branchId) ? [] : [{ field: `events.${index}.branchId`, problem: 'names no branch' }],
  )
  if (problems.length > 0) throw new Invalid(problems)
}

export interface LoggedEvent {
  readonly sequence: number
  readonly uid: string
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  readonly body: string
  readonly simulated: boolean
  readonly created_at: Date
}

/** The branch's own log: numbered without a gap, so that a partner can prove that nothing is missing. Day by day: each look asks one. */
export async function readLog(
  sql: Sql,
  { branchId, environment }: Branch,
  afterSequence: number,
  most: number,
): Promise<LoggedEvent[]> {
  const days = await sql.query<{ day: number }>(table.selectLogDays, [branchId, environment, afterSequence])
  const entries: LogEntry[] = []
  for (const { day } of days) {
    const after = entries.at(-1)?.sequence ?? afterSequence
    const values = [branchId, environment, after, most - entries.length]
    entries.push(...(await sql.query<LogEntry>(table.selectLog(day), values)))
    if (entries.length === most) break
  }
  return fillIn(sql, entries)
}

interface LogEntry {
  readonly sequence: number
  readonly event_id: number
}

async function fillIn(sql: Sql, entries: readonly LogEntry[]): Promise<LoggedEvent[]> {
  const events = new Map<number, Omit<LoggedEvent, 'sequence'>>()
  const ids = entries.map((entry) => entry.event_id)
  for (const [day, together] of Map.groupBy(ids, dayOfId)) {
    const rows = await sql.query<Omit<LoggedEvent, 'sequence'> & { id: number }>(table.selectLogged(day), [together])
    for (const row of rows) events.set(row.id, row)
  }
  return entries.flatMap(({ sequence, event_id }) => {
    const event = events.get(event_id)
    return event ? [{ ...event, sequence }] : []
  })
}

export async function findLogBounds(
  sql: Sql,
  { branchId, environment }: Branch,
): Promise<{ first: number; last: number }> {
  const [bounds] = await sql.query<{ first: number; last: number }>(table.selectLogHead, [branchId, environment])
  return { first: Number(bounds?.first ?? 1), last: Number(bounds?.last ?? 0) }
}
