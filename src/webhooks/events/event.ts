/**
 * What happened. Stored with everything needed to deliver it, and numbered without a gap in its branch's log.
 */
import { randomUUID } from 'node:crypto'
import type { Sql } from '../../database/database.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import type { Kind } from './kind.ts'
import { publish } from './log.sql.ts'
import { feedOf, partOf } from './part.ts'

export interface NewEvent {
  readonly environment: Environment
  readonly branchId: number
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  readonly body: string
  readonly simulated: boolean
  /** Of a test event for one webhook alone. */
  readonly webhookId?: number | undefined
}

export interface PublishedEvent {
  readonly uid: string
}

/** The name a receiver sees: the same on every attempt. */
export function printEventId(uid: string): string {
  return `evt_${uid.replaceAll('-', '')}`
}

/**
 * It begins with its moment (RFC 9562, version 7), so that the name alone tells in which day's partition to
 * look.
 */
export function makeEventUids(events: readonly unknown[], at: Date): string[] {
  const time = at.getTime().toString(16).padStart(12, '0')
  const begins = `${time.slice(0, 8)}-${time.slice(8)}-7`
  return events.map(() => begins + randomUUID().slice(15))
}

/** One per event; undefined while tracing is off, so that the statement has nothing more to do. */
export type Traceparents = readonly (string | undefined)[] | undefined

/** Events with their names, as they are published: by one statement for each part. */
export class Publication {
  readonly events: readonly NewEvent[]
  readonly uids: readonly string[]
  readonly #now: Date
  readonly #traceparents: Traceparents
  /** Places of events. */
  readonly #byPart: ReadonlyMap<number, readonly number[]>

  constructor(
    events: readonly NewEvent[],
    now: Date,
    traceparents?: Traceparents,
    uids: readonly string[] = makeEventUids(events, now),
  ) {
    this.events = events
    this.#now = now
    this.#traceparents = traceparents
    this.uids = uids
    this.#byPart = Map.groupBy(events.keys(), (index) => partOf(events[index]!.branchId))
  }

  get parts(): readonly number[] {
    return [...this.#byPart.keys()]
  }

  /** What `publish` takes, for each part in the order of `parts`. At most so many are numbered with it. */
  values(numbered: number) {
    return [...this.#byPart].map(([part, indexes]) => this.#valuesOf(part, numbered, indexes))
  }

  published(): PublishedEvent[] {
    return this.uids.map((uid) => ({ uid }))
  }

  #valuesOf(part: number, numbered: number, indexes: readonly number[]) {
    const events = indexes.map((index) => this.events[index]!)
    return {
      part,
      now: this.#now,
      most: numbered,
      feeds: events.map(feedOf),
      uids: indexes.map((index) => this.uids[index]!),
      kinds: events.map(({ kind }) => kind),
      actions: events.map(({ action }) => action),
      entities: events.map(({ entity }) => entity),
      bodies: events.map(({ body }) => body),
      simulations: events.map(({ simulated }) => simulated),
      webhooks: events.map(({ webhookId }) => webhookId ?? null),
      traceparents: indexes.map((index) => this.#traceparents?.[index] ?? null),
    }
  }
}

/** In the caller's transaction, or each part's events in a transaction of its own. */
export async function insertEvents(
  sql: Sql,
  events: readonly NewEvent[],
  now: Date,
  traceparents?: Traceparents,
): Promise<PublishedEvent[]> {
  const publication = new Publication(events, now, traceparents)
  for (const values of publication.values(0)) await sql.query(publish, values)
  return publication.published()
}
