/** Consent given, refused and taken back. An authorization is a user's standing approval of a client. */
import { type Actor, recordAct } from '../audit/audit.ts'
import { after, hour, minute } from '../clock.ts'
import { issueToken, type Token } from '../crypto/token.ts'
import type { Changes } from '../database/changes.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { NotFound } from '../problem.ts'
import type { Scope } from '../scope.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import * as table from './authorizations.sql.ts'

/** Spec 8. */
const codeLifetimeMs = 10 * minute

export interface Authorization {
  readonly id: number
  readonly user_id: string
  readonly client_id: string
  readonly scopes: readonly Scope[]
  readonly account_numbers: readonly string[]
  readonly approved_at: Date
  readonly updated_at: Date
  readonly last_used_at: Date | null
  readonly client_name: string
  readonly environment: Environment
  readonly callback_url: string
  readonly client_status: 'active' | 'suspended'
  readonly partner_name: string
  readonly partner_status: 'applied' | 'approved' | 'suspended'
  /** Whether the client can renew its access without asking again. */
  readonly lasting: boolean
}

export interface Consent {
  readonly request: AuthorizationRequest
  readonly userId: string
  readonly environment: Environment
  readonly accountNumbers: readonly string[]
}

/** Spec 4.2. Undefined when the request has been answered before. */
export async function approve(db: Database, consent: Consent, by: Actor, now: Date): Promise<Token | undefined> {
  const { request, userId, environment, accountNumbers } = consent
  const code = issueToken('code', environment)
  return db.transaction(async (sql) => {
    const [granted] = await sql.query<{ id: number; authorization_id: number }>(table.approveRequest, [
      ...[request.id, now, userId, request.clientId, request.scopes, accountNumbers],
      ...[request.callbackUrl, request.codeChallenge, code.hash, after(now, codeLifetimeMs)],
    ])
    if (!granted) return undefined
    const { id, authorization_id } = granted
    const details = { userId, authorizationId: authorization_id, grantId: id, scopes: request.scopes, accountNumbers }
    await recordAct(sql, by, 'authorization.approved', `client:${request.clientId}`, now, details)
    return code
  })
}

/** False when the request has been answered before. */
export async function deny(db: Database, request: AuthorizationRequest, by: Actor, now: Date): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [answered] = await sql.query(table.denyRequest, [request.id, now])
    if (!answered) return false
    await recordAct(sql, by, 'authorization.denied', `client:${request.clientId}`, now, { scopes: request.scopes })
    return true
  })
}

export function listAuthorizations(
  sql: Sql,
  of: { userId?: string | undefined; clientId?: string | undefined },
): Promise<Authorization[]> {
  return sql.query<Authorization>(table.selectAuthorizations, [of.userId, of.clientId])
}

/** Ends every code and token that came of it, here at once and everywhere with the commit. */
export async function revokeAuthorization(
  db: Database,
  changes: Pick<Changes, 'announce'>,
  { id, ownerId, reason }: { id: number; ownerId?: string; reason: string },
  by: Actor,
  now: Date,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query<{ user_id: string; client_id: string }>(table.revokeAuthorization, [
      id,
      now,
      reason,
      ownerId,
    ])
    if (!revoked) throw new NotFound(`There is no living authorization ${id}.`)
    const details = { authorizationId: id, userId: revoked.user_id, reason }
    await recordAct(sql, by, 'authorization.revoked', `client:${revoked.client_id}`, now, details)
  })
  changes.announce(`authorization:${id}`)
}

/** A request can no longer be answered well before its answer is forgotten. */
export function removeOldAnswers(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldAnswers, [after(now, -2 * hour), most])
}
