/**
 * Where the keys of a client are, when they are not given: a JWKS at an address of the partner's. The worker
 * reads it (key-reader.ts); requests see what was read.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { findUrlProblem, type GuardPolicy } from '../network/address-guard.ts'
import { Invalid } from '../problem.ts'
import { getClient } from './client.ts'
import { lockClient } from './clients.sql.ts'
import * as table from './key-sets.sql.ts'

export interface KeySet {
  readonly clientId: string
  readonly jwksUri: string
  readonly placedAt: Date
  /** When the keys were last found to be as they are here. */
  readonly readAt: Date | null
  readonly failedSince: Date | null
  /** Why it fails; or, where it does not, which keys were left out. */
  readonly fault: string | null
}

/**
 * At the address from now on, read at once. Keys that the client has stay until then; without an address they
 * stay as if they were given.
 */
export async function placeKeys(
  db: Sql,
  client: { readonly id: string },
  { jwksUri, policy }: { readonly jwksUri: string | null; readonly policy: GuardPolicy },
  act: Act,
): Promise<void> {
  const problem = jwksUri === null ? undefined : findAddressProblem(jwksUri, policy)
  if (problem !== undefined) throw new Invalid([{ field: 'jwksUri', problem }])
  const clientId = client.id
  return db.transaction(async (sql) => {
    await sql.query(lockClient, { id: clientId })
    const before = await getClient(sql, clientId)
    if (jwksUri === null) await sql.query(table.deleteSet, { clientId })
    else await sql.query(table.placeSet, { clientId, now: act.at })
    if (before.jwksUri === jwksUri) return
    await sql.query(table.updateJwksUri, { id: clientId, jwksUri, updatedAt: act.at })
    await recordAct(sql, act, 'client.keys_placed', `client:${clientId}`, { jwksUri })
  })
}

/** The gateway's own receiver is no place for keys. */
export function findAddressProblem(jwksUri: string, { builtIn: _, ...policy }: GuardPolicy) {
  return findUrlProblem(jwksUri, policy)
}

export async function findKeySet(sql: Sql, clientId: string): Promise<KeySet | undefined> {
  const [set] = await sql.query(table.selectSet, { clientId })
  return set
}

export function listKeySetsOfBranch(sql: Sql, branchId: number): Promise<KeySet[]> {
  return sql.query(table.selectSetsOfBranch, { branchId })
}

/**
 * A key is not among those that were read: asks the worker to look again. True while an answer is to be
 * expected: `client:ID` is announced when it has looked.
 */
export async function wantKeys(sql: Sql, clientId: string, now: Date): Promise<boolean> {
  const { isComing } = await sql.one(table.wantSet, { clientId, now })
  return isComing
}
