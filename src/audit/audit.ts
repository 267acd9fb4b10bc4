/** Who did what, when, from where. Recorded in the transaction of the act itself: no act without its entry. */

import { printJson } from '../cut.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { insertAuditEntry, selectNewest, selectNewestAbout } from './entries.sql.ts'

/** Whoever acts: `user:id-…`, `client:…`, `operator:…`, `service:…`, `gateway`, or `role:…` of the database. */
export interface Actor {
  readonly name: string
  readonly environment?: Environment | undefined
  readonly address?: string | undefined
  /** For notices; the log does not keep it. */
  readonly userAgent?: string | undefined
  readonly requestId?: string | undefined
  /** The identity provider that opened their session: its roles count. The log does not keep it. */
  readonly providerId?: number | undefined
}

/** Who does something, and when: one value from the door to the entry. */
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

export type AuditAction =
  | `user.${'created' | 'renamed' | 'named' | 'disabled' | 'enabled' | 'disabled_by_source' | 'enabled_by_source' | 'password_changed' | 'email_changed' | 'notices_chosen' | 'account_added' | 'holding_set' | 'holding_removed' | 'removed' | 'reset_sent' | 'role_given' | 'role_taken' | 'roles_provided'}`
  | `session.${'opened' | 'confirmed' | 'refused' | 'throttled' | 'closed' | 'others_closed' | 'all_closed' | 'ended_by_provider' | 'wait_lifted'}`
  | `second_factor.${'added' | 'removed' | 'reset' | 'locked'}`
  | 'recovery_codes.made'
  | `api_token.${'created' | 'revoked'}`
  | `partner.${'applied' | 'renamed' | 'approved' | 'declined' | 'suspended' | 'message_sent' | 'refresh_asked' | 'refresh_granted' | 'refresh_withdrawn' | 'member_invited' | 'invitation_resent' | 'invitation_declined' | 'invitation_withdrawn' | 'member_added' | 'member_removed' | 'role_changed'}`
  | `client.${'created' | 'updated' | 'suspended' | 'activated' | 'secret_issued' | 'secret_revoked' | 'scopes_set' | 'scopes_asked' | 'scopes_granted' | 'scopes_declined' | 'look_given' | 'look_accepted' | 'look_declined' | 'look_withdrawn'}`
  | `brand.${'drafted' | 'draft_discarded' | 'activated' | 'returned'}`
  | `service.${'created' | 'provisioning_set' | 'revoked'}`
  | `provider.${'added' | 'drafted' | 'changed' | 'removed' | 'credential_replaced'}`
  | `identity.${'linked' | 'unlinked' | 'unknown' | 'refused'}`
  | `authorization.${'approved' | 'denied' | 'revoked' | 'narrowed' | 'paused' | 'resumed'}`
  | `code.${'exchanged' | 'replayed' | 'presented_by_other_client'}`
  | `token.${'refreshed' | 'rotated' | 'reuse_detected' | 'revoked'}`
  | `webhook.${'created' | 'updated' | 'deleted' | 'paused' | 'resumed' | 'disabled' | 'expired' | 'secret_rotated' | 'redelivered' | 'replayed' | 'replay_canceled' | 'recovered' | 'probed' | 'delivery_skipped' | 'skipped'}`
  | `source.${'created' | 'role_allowed' | 'role_withdrawn'}`
  | `provisioning.${'applied' | 'merged' | 'linked'}`
  | `import.${'started' | 'finished' | 'allowed' | 'stopped'}`
  | `keys.${'rotated' | 'pruned'}`
  | `proposal.${'made' | 'approved' | 'declined' | 'withdrawn' | 'outdated' | 'bypassed'}`
  | `audit.${'verified' | 'exported'}`

/** Recorded by a trigger, whoever does it (migrations/0005-notices.sql). */
type TriggeredAction = 'user.email_changed'

/** What would hand an account to somebody else: recorded by users/guarded-act.ts alone, which tells the owner of it. */
export type GuardedAction =
  | 'user.password_changed'
  | `second_factor.${'added' | 'removed' | 'reset' | 'locked'}`
  | 'recovery_codes.made'
  | 'api_token.created'

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
  const about = printJson(reason === undefined ? details : { ...details, reason })
  await sql.query(insertAuditEntry, [at, by.name, action, subject, by.environment, by.address, by.requestId, about])
}

interface AuditFilter {
  readonly actor?: string | undefined
  /** A whole action, or its first half: `client` finds `client.created`. */
  readonly action?: string | undefined
  readonly subject?: string | undefined
  readonly limit?: number
}

export function findEntries(sql: Sql, { actor, action, subject, limit = 50 }: AuditFilter): Promise<AuditEntry[]> {
  const pattern = action === undefined || action.includes('.') ? action : `${action}.%`
  return sql.query<AuditEntry>(selectNewest, [actor, pattern, subject, limit])
}

/** The newest about any of these subjects; `room` is the first half of an action, such as `authorization`. */
export function listNewestAbout(
  sql: Sql,
  subjects: readonly string[],
  most: number,
  room?: string,
): Promise<AuditEntry[]> {
  return sql.query<AuditEntry>(selectNewestAbout, [subjects, most, room])
}
