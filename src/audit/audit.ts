/**
 * Who did what, when, from where. Recorded in the transaction of the act itself: no act without its entry.
 */

import type { Sql } from '../database/database.ts'
import { printJson } from '../text/cut.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { StaffRole } from '../vocabulary/permission.ts'
import type { AuditAction, GuardedAction, TriggeredAction } from './action.ts'
import { insertAuditEntry, selectNewest, selectNewestAbout } from './entries.sql.ts'

/**
 * A credential of the administration API while it acts: with one role, for one of the staff, and read by
 * others of them.
 */
export interface ActingCredential {
  readonly id: number
  readonly userId: string
  readonly readers: readonly string[]
  readonly role: StaffRole
}

/**
 * The actor: `user:id-…`, `credential:…`, `client:…`, `operator:…`, `service:…`, `gateway`, or `role:…` of the
 * database.
 */
export interface Actor {
  readonly name: string
  readonly environment?: Environment | undefined
  readonly address?: string | undefined
  /** For notices; the log does not keep it. */
  readonly userAgent?: string | undefined
  readonly requestId?: string | undefined
  /** The identity provider that opened their session: its roles count. The log does not keep it. */
  readonly providerId?: number | undefined
  /** What a credential may is what its role may. The log keeps its number, which is the actor's name. */
  readonly credential?: ActingCredential
}

/** The signed-in operator or the person behind a credential; undefined for everybody else. */
export function personOf({ name, credential }: Actor): string | undefined {
  return credential?.userId ?? (name.startsWith('user:') ? name.slice('user:'.length) : undefined)
}

/** The actor of an act, and when: one value from the door to the entry. */
export interface Act {
  readonly by: Actor
  readonly at: Date
  /** As an operator gave it; kept with the entry. */
  readonly reason?: string
}

/** What the gateway does by itself. */
export function gatewayAct(at: Date): Act {
  return { by: { name: 'gateway' }, at }
}

export interface AuditEntry {
  readonly id: number
  readonly at: Date
  readonly actor: string
  readonly action: AuditAction
  readonly subject: string
  readonly environment: Environment | null
  readonly address: string | null
  readonly requestId: string | null
  readonly details: Record<string, unknown>
}

/** As it is written into files and lists. */
export function printEntry({ requestId, details, ...entry }: AuditEntry) {
  return { ...entry, request_id: requestId, details }
}

export function recordAct(
  sql: Sql,
  act: Act,
  action: Exclude<AuditAction, GuardedAction | TriggeredAction>,
  subject: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  return insertEntry(sql, act, action, subject, details)
}

/** Of an act that more has to be done for: see who calls it. */
export async function insertEntry(
  sql: Sql,
  { by, at, reason }: Act,
  action: AuditAction,
  subject: string,
  details: Record<string, unknown>,
): Promise<void> {
  const { name: actor, environment, address, requestId } = by
  const printed = printJson(reason === undefined ? details : { ...details, reason })
  await sql.query(insertAuditEntry, {
    ...{ at, actor, action, subject, environment, address, requestId },
    details: printed,
  })
}

interface AuditFilter {
  readonly actor?: string | undefined
  /** A whole action, or its first half: `client` finds `client.created`. */
  readonly action?: string | undefined
  readonly subject?: string | undefined
  readonly limit?: number
}

export function findEntries(
  sql: Sql,
  { actor, action, subject, limit = 50 }: AuditFilter,
): Promise<AuditEntry[]> {
  const pattern = action === undefined || action.includes('.') ? action : `${action}.%`
  return sql.query(selectNewest, { actor, pattern, subject, most: limit })
}

/** The newest about any of these subjects; `room` is the first half of an action, such as `authorization`. */
export function listNewestAbout(
  sql: Sql,
  subjects: readonly string[],
  most: number,
  room?: string,
): Promise<AuditEntry[]> {
  return sql.query(selectNewestAbout, { subjects, most, room })
}
