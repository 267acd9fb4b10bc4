/**
 * A text copied from a log finds its event or webhook: events by name, webhooks by address or number. Nothing
 * reads a table to its end.
 */
import type { Database, Sql } from '../../database/database.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { findPresentParts } from './away-parts.ts'
import type { Branch } from './branch.ts'
import { logOf } from './branch-log.ts'
import * as table from './event-search.sql.ts'
import type { Kind } from './kind.ts'
import { branchOfFeed } from './part.ts'

/** An event that has its number. */
export interface NamedEvent {
  readonly seq: number
  readonly day: number
  readonly uid: string
  readonly branchId: number
  readonly environment: Environment
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  /** Of a test event that is for one webhook alone. */
  readonly webhookId: number | null
  readonly createdAt: Date
}

/** `evt_0192…`, with or without its prefix and dashes; undefined for what is no name of an event. */
export function parseEventName(text: string): string | undefined {
  const hex = text.toLowerCase().replace(/^evt_/, '').replaceAll('-', '')
  return /^[0-9a-f]{32}$/.test(hex) ? hex : undefined
}

/** `transaction:42`; undefined for what names no entity. */
export function parseEntity(text: string): string | undefined {
  return /^[a-z_]+:[\w:-]{1,80}$/i.test(text) ? text.toLowerCase() : undefined
}

/** Of each branch that has it, its newest event; of whichever partner. */
export async function findNewestOfEntity(db: Database, entity: string, most: number): Promise<NamedEvent[]> {
  const events: NamedEvent[] = []
  for (const part of await findPresentParts(db)) {
    const found = await db.query(table.selectNewestOfEntity, { part, entity, most })
    for (const { feed, ...event } of found) events.push({ ...event, ...branchOfFeed(feed) })
  }
  return events.sort((one, other) => other.createdAt.getTime() - one.createdAt.getTime()).slice(0, most)
}

/** Whosever it is. */
export async function findNamedEvent(db: Database, name: string): Promise<NamedEvent | undefined> {
  for (const part of await findPresentParts(db)) {
    const event = await findInPart(db, part, name)
    if (event) return event
  }
  return undefined
}

export async function findEntry(sql: Sql, branch: Branch, uid: string): Promise<NamedEvent | undefined> {
  const event = await findInPart(sql, logOf(branch).part, uid)
  return event?.branchId === branch.branchId && event.environment === branch.environment ? event : undefined
}

async function findInPart(sql: Sql, part: number, uid: string): Promise<NamedEvent | undefined> {
  const [row] = await sql.query(table.selectEntry, { part, uid })
  if (!row) return undefined
  const { feed, ...event } = row
  return { ...event, ...branchOfFeed(feed) }
}

export interface Receiver {
  readonly id: number
  readonly url: string
  readonly branchId: number
  readonly partner: string
  readonly environment: Environment
}

/** By words of the address, or by number; of all partners. */
export function findWebhooksAt(sql: Sql, text: string, most: number): Promise<Receiver[]> {
  return sql.query(table.selectAddressed, { typed: text, id: numberOf(text), most })
}

/** Of whichever partner. */
export async function findReceiver(sql: Sql, id: number): Promise<Receiver | undefined> {
  return (await sql.query(table.selectReceiver, { id }))[0]
}

/** What can be the number of a webhook. */
function numberOf(text: string): number | undefined {
  const digits = /^#?([1-9]\d{0,15})$/.exec(text)?.[1]
  return digits === undefined || Number(digits) > Number.MAX_SAFE_INTEGER ? undefined : Number(digits)
}
