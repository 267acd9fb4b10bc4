/**
 * A partner asks for more than the most that a client may ask for, and an operator answers. A trigger writes
 * the answer down whenever the most is set, by whatever means.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, type FieldProblem, Invalid } from '../problem.ts'
import { parseScopes, type Scope, union, without } from '../vocabulary/scope.ts'
import type { Client } from './client.ts'
import { lockClient, updateScopesAtMost } from './clients.sql.ts'
import * as table from './scope-requests.sql.ts'

export interface ScopeRequest {
  readonly id: number
  readonly clientId: string
  /** What is not in the most. */
  readonly scopes: readonly Scope[]
  readonly reason: string
  readonly askedAt: Date
  /** Empty when it was declined; null while it waits. */
  readonly granted: readonly Scope[] | null
  readonly answeredAt: Date | null
}

/** One question of a client waits at a time. */
export async function askForScopes(
  db: Sql,
  client: Client,
  { wider, reason }: { readonly wider: string; readonly reason: string },
  act: Act,
): Promise<void> {
  const asked = parseWider(client, wider)
  const problems: FieldProblem[] = []
  if (asked.length === 0)
    problems.push({ field: 'wider', problem: 'must name a scope that is not allowed yet' })
  if (reason === '' || reason.length > 2_000)
    problems.push({ field: 'reason', problem: 'must have 1 to 2,000 characters' })
  if (problems.length > 0) throw new Invalid(problems)
  await db.transaction(async (sql) => {
    await sql
      .query(table.insertRequest, { clientId: client.id, scopes: asked, reason, askedAt: act.at })
      .catch((error: unknown) => {
        throw violates(error, 'scope_requests_open') ? new Conflict('You have asked already.') : error
      })
    const details = { branchId: client.branchId, scopes: asked }
    await recordAct(sql, act, 'client.scopes_asked', `client:${client.id}`, details)
  })
}

function parseWider({ scopesAtMost }: Client, wider: string): readonly Scope[] {
  const parsed = parseScopes(wider)
  return parsed.kind === 'scopes' ? without(parsed.scopes, scopesAtMost) : []
}

/**
 * False when this request is answered already, or is none: no operator answers what they have not seen. The
 * client is locked first, as by the transaction that sets the most, so that the two never wait for each other
 * in a circle.
 */
export function answerScopeRequest(
  db: Sql,
  client: Client,
  { id, granted }: { readonly id: number; readonly granted: boolean },
  act: Act,
): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [held] = await sql.query(lockClient, { id: client.id })
    const [request] = await sql.query(table.selectOpen, { clientId: client.id })
    if (!held || request?.id !== id) return false
    if (granted)
      await sql.query(updateScopesAtMost, {
        id: client.id,
        scopesAtMost: union(held.scopesAtMost, request.scopes),
        updatedAt: act.at,
      })
    else await sql.query(table.declineRequest, { id, answeredAt: act.at })
    const details = { branchId: client.branchId, scopes: request.scopes }
    const action = granted ? 'client.scopes_granted' : 'client.scopes_declined'
    await recordAct(sql, act, action, `client:${client.id}`, details)
    return true
  })
}

export function declineScopeRequest(db: Sql, client: Client, id: number, act: Act): Promise<boolean> {
  return answerScopeRequest(db, client, { id, granted: false }, act)
}

/** The newest, whether or not it was answered. */
export async function findScopeRequest(sql: Sql, clientId: string): Promise<ScopeRequest | undefined> {
  const [request] = await sql.query(table.selectNewest, { clientId })
  return request
}

export async function findOpenScopeRequest(sql: Sql, clientId: string): Promise<ScopeRequest | undefined> {
  const [request] = await sql.query(table.selectOpen, { clientId })
  return request
}

export function listOpenScopeRequests(sql: Sql, branchId: number): Promise<ScopeRequest[]> {
  return sql.query(table.selectOpenOfBranch, { branchId })
}
