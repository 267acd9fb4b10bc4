/** What happened. Stored with everything needed to deliver it; publishes that arrive together share a commit. */
import { randomUUID } from 'node:crypto'
import { sha256 } from '../crypto/hash.ts'
import { type Batch, openBatch } from '../database/batch.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { Conflict, Invalid } from '../problem.ts'
import * as table from './events.sql.ts'
import type { Kind } from './kind.ts'
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

export interface Publisher {
  /** All of them or none. `traceparent` is the span that they are published under, where somebody traces. */
  publish(events: readonly NewEvent[], now: Date, traceparent?: string): Promise<PublishedEvent[]>
}

/** The name a receiver sees: the same on every attempt. */
export function printEventId(uid: string): string {
  return `evt_${uid.replaceAll('-', '')}`
}

/** Publishes of one moment share a statement. Their branches are looked at first: one stranger would fail them all. */
export function openPublisher(db: Database): Publisher {
  let place = 0
  const branches = new Set<number>()
  const batch: Batch<Publishing, PublishedEvent[]> = openBatch((items) => insertTogether(db, items), {
    keyOf: () => String(place++),
    sizeOf: (item) => item.events.length,
    maxItems: eventsAtOnce,
    maxInFlight: 2,
  })
  return {
    async publish(events, now, traceparent) {
      // A branch that exists goes on existing.
      if (!events.every((event) => branches.has(event.branchId))) {
        await refuseUnknownBranches(db, events)
        for (const event of events) branches.add(event.branchId)
      }
      return batch.run({ events, now, traceparent })
    },
  }
}

interface Publishing {
  readonly events: readonly NewEvent[]
  readonly now: Date
  readonly traceparent: string | undefined
}

async function insertTogether(db: Database, items: readonly Publishing[]): Promise<PublishedEvent[][]> {
  const all = await insertEvents(
    db,
    items.flatMap((item) => item.events),
    items[0]!.now,
    traceparentsOf(items),
  )
  return items.map(({ events }) => all.splice(0, events.length))
}

type Traceparents = readonly (string | undefined)[] | undefined

/** One an event; undefined while nobody traces, so that the statement has nothing more to do. */
function traceparentsOf(items: readonly Pick<Publishing, 'events' | 'traceparent'>[]): Traceparents {
  if (items.every((item) => item.traceparent === undefined)) return undefined
  return items.flatMap(({ events, traceparent }) => events.map(() => traceparent))
}

export async function insertEvents(
  sql: Sql,
  events: readonly NewEvent[],
  now: Date,
  traceparents?: Traceparents,
): Promise<PublishedEvent[]> {
  const uids = events.map(() => randomUUID() as string)
  const rows = await sql.query<{ id: number }>(table.insertEvents, [
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
  ])
  return rows.map(({ id }, index) => ({ id, uid: uids[index]! }))
}

/** All of them or none. With a key, the same request again is answered as before and publishes nothing. */
export async function publishAll(
  db: Database,
  events: readonly NewEvent[],
  idempotency: { readonly owner: string; readonly key: string } | undefined,
  now: Date,
  traceparent?: string,
): Promise<readonly string[]> {
  await refuseUnknownBranches(db, events)
  const traceparents = traceparentsOf([{ events, traceparent }])
  if (!idempotency) return (await insertEvents(db, events, now, traceparents)).map((event) => event.uid)
  const { owner, key } = idempotency
  // Without the trace: who asks again asks under another span.
  const hash = sha256(JSON.stringify(events))
  return db
    .transaction(async (sql) => {
      const [before] = await findKey(sql, owner, key)
      if (before) return repeatAnswer(before, hash)
      const published = (await insertEvents(sql, events, now, traceparents)).map((event) => event.uid)
      const [kept] = await sql.query(table.insertIdempotencyKey, [owner, key, hash, published, now])
      if (!kept) throw new KeyTaken()
      return published
    })
    .catch(async (error: unknown) => {
      // Another request with this key won; ours is rolled back and theirs is the answer.
      if (!(error instanceof KeyTaken)) throw error
      const [winner] = await findKey(db, owner, key)
      return repeatAnswer(winner!, hash)
    })
}

class KeyTaken extends Error {}

interface StoredKey {
  readonly request_hash: Buffer
  readonly event_uids: string[]
}

function findKey(sql: Sql, owner: string, key: string): Promise<StoredKey[]> {
  return sql.query<StoredKey>(table.selectIdempotencyKey, [owner, key])
}

function repeatAnswer(stored: StoredKey, hash: Buffer): readonly string[] {
  if (!stored.request_hash.equals(hash))
    throw new Conflict('This idempotency key was used for another request. Choose a new one.')
  return stored.event_uids
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

/** The branch's own log: numbered without a gap, so that a partner can prove that nothing is missing. */
export function readLog(
  sql: Sql,
  { branchId, environment }: Branch,
  afterSequence: number,
  most: number,
): Promise<LoggedEvent[]> {
  return sql.query<LoggedEvent>(table.selectLog, [branchId, environment, afterSequence, most])
}

export async function findLogBounds(
  sql: Sql,
  { branchId, environment }: Branch,
): Promise<{ first: number; last: number }> {
  const [bounds] = await sql.query<{ first: number; last: number }>(table.selectLogHead, [branchId, environment])
  return { first: Number(bounds?.first ?? 1), last: Number(bounds?.last ?? 0) }
}
