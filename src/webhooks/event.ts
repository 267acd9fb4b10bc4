/** What happened. Stored with everything needed to deliver it, and numbered without a gap in its branch's log. */
import { randomUUID } from 'node:crypto'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { openDay } from './days.sql.ts'
import { dayOf, dayOfId } from './days.ts'
import * as table from './events.sql.ts'
import type { Kind } from './kind.ts'
import type { DueEvent } from './lane.ts'
import type { Branch } from './webhook.ts'

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

/** The name a receiver sees: the same on every attempt. */
export function printEventId(uid: string): string {
  return `evt_${uid.replaceAll('-', '')}`
}

/** It begins with its moment (RFC 9562, version 7), so that whoever has the name knows where to look for it. */
export function makeEventUids(events: readonly unknown[], at: Date): string[] {
  const time = at.getTime().toString(16).padStart(12, '0')
  const begins = `${time.slice(0, 8)}-${time.slice(8)}-7`
  return events.map(() => begins + randomUUID().slice(15))
}

/** One an event; undefined while nobody traces, so that the statement has nothing more to do. */
export type Traceparents = readonly (string | undefined)[] | undefined

/** Events as the statements that store them want them. */
export class EventColumns {
  readonly events: readonly NewEvent[]
  readonly uids: readonly string[]
  readonly #traceparents: Traceparents

  constructor(
    events: readonly NewEvent[],
    now: Date,
    traceparents?: Traceparents,
    uids: readonly string[] = makeEventUids(events, now),
  ) {
    this.events = events
    this.#traceparents = traceparents
    this.uids = uids
  }

  values(now: Date): readonly unknown[] {
    const { events } = this
    return [
      this.uids,
      events.map((event) => event.environment),
      events.map((event) => event.branchId),
      events.map((event) => event.kind),
      events.map((event) => event.action),
      events.map((event) => event.entity),
      events.map((event) => event.body),
      events.map((event) => event.simulated),
      now,
      this.#traceparents,
    ]
  }

  /** As whoever delivers it sees it. */
  eventAt(index: number, id: number, publishedAt: Date): DueEvent {
    const { body, simulated } = this.events[index]!
    return {
      id,
      uid: this.uids[index]!,
      publishedAt,
      traceparent: this.#traceparents?.[index] ?? null,
      simulated,
      body,
    }
  }

  /** The spans under which they are published, and how many under each. */
  publishes(): { readonly traceparent: string; readonly events: number }[] {
    const known = (this.#traceparents ?? []).filter((traceparent) => traceparent !== undefined)
    return [...Map.groupBy(known, (traceparent) => traceparent)].map(([traceparent, of]) => ({
      traceparent,
      events: of.length,
    }))
  }

  published(ids: readonly number[]): PublishedEvent[] {
    return ids.map((id, index) => ({ id, uid: this.uids[index]! }))
  }
}

export function insertEvents(
  sql: Sql,
  events: readonly NewEvent[],
  now: Date,
  traceparents?: Traceparents,
): Promise<PublishedEvent[]> {
  return insertColumns(sql, new EventColumns(events, now, traceparents), now)
}

export async function insertColumns(sql: Sql, columns: EventColumns, now: Date): Promise<PublishedEvent[]> {
  const day = dayOf(now)
  const values = [...columns.values(now), day]
  let rows = await sql.query<{ id: number }>(table.insertEvents, values)
  if (rows.length === 0 && columns.events.length > 0) {
    // The housekeeping opens days ahead; whoever comes before it opens this one.
    await sql.query(openDay, [day])
    rows = await sql.query<{ id: number }>(table.insertEvents, values)
  }
  return columns.published(rows.map(({ id }) => id))
}

export interface LoggedEvent {
  readonly sequence: number
  readonly uid: string
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  readonly body: string
  readonly simulated: boolean
  readonly createdAt: Date
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
  readonly eventId: number
}

async function fillIn(sql: Sql, entries: readonly LogEntry[]): Promise<LoggedEvent[]> {
  const events = new Map<number, Omit<LoggedEvent, 'sequence'>>()
  const ids = entries.map((entry) => entry.eventId)
  for (const [day, together] of Map.groupBy(ids, dayOfId)) {
    const rows = await sql.query<Omit<LoggedEvent, 'sequence'> & { id: number }>(table.selectLogged(day), [together])
    for (const row of rows) events.set(row.id, row)
  }
  return entries.flatMap(({ sequence, eventId }) => {
    const event = events.get(eventId)
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
