/** A registered OAuth application: its callback, the scopes it may ask for, and the environment it lives in. */

import { type Actor, recordAct } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { findNameProblem } from '../name.ts'
import { type FieldProblem, Invalid, NotFound } from '../problem.ts'
import { parseScopes, type Scope } from '../scope.ts'
import { findCallbackProblem } from './callback-url.ts'
import { addSecret } from './client-secret.ts'
import * as table from './clients.sql.ts'
import type { Partner, PartnerStatus } from './partner.ts'

export interface Client {
  readonly id: string
  readonly branch_id: number
  readonly environment: Environment
  readonly name: string
  readonly callback_url: string
  readonly scopes: readonly Scope[]
  readonly status: 'active' | 'suspended'
  readonly rotate_refresh_tokens: boolean
  readonly created_at: Date
}

/** A client together with what decides whether it may act. */
export interface Registration extends Client {
  readonly partner_name: string
  readonly partner_status: PartnerStatus
  readonly refresh_access: boolean
  readonly secrets: readonly { readonly id: number; readonly hash: string; readonly expiresAt: string | null }[]
}

export interface ClientDraft {
  readonly name: string
  readonly callbackUrl: string
  readonly scope: string
  readonly rotateRefreshTokens: boolean
}

export async function createClient(
  db: Database,
  vault: Vault,
  partner: Partner,
  environment: Environment,
  draft: ClientDraft,
  { development, by, now }: { development: boolean; by: Actor; now: Date },
): Promise<{ client: Client; secret: Token }> {
  const scopes = checkDraft(draft, environment, development)
  const id = randomLetters(24)
  const { name, callbackUrl, rotateRefreshTokens } = draft
  return db.transaction(async (sql) => {
    const values = [id, partner.branch_id, environment, name.trim(), callbackUrl, scopes, rotateRefreshTokens, now]
    const [client] = await sql.query<Client>(table.insertClient, values)
    await recordAct(sql, by, 'client.created', `client:${id}`, now, {
      branchId: partner.branch_id,
      environment,
      callbackUrl,
      scopes,
    })
    return { client: client!, secret: await addSecret(sql, vault, client!, by, now) }
  })
}

export async function updateClient(
  db: Database,
  client: Client,
  change: Partial<ClientDraft>,
  { development, by, now }: { development: boolean; by: Actor; now: Date },
): Promise<Client> {
  const draft: ClientDraft = {
    name: change.name ?? client.name,
    callbackUrl: change.callbackUrl ?? client.callback_url,
    scope: change.scope ?? client.scopes.join(' '),
    rotateRefreshTokens: change.rotateRefreshTokens ?? client.rotate_refresh_tokens,
  }
  const scopes = checkDraft(draft, client.environment, development)
  return db.transaction(async (sql) => {
    const values = [client.id, draft.name.trim(), draft.callbackUrl, scopes, draft.rotateRefreshTokens, now]
    const [updated] = await sql.query<Client>(table.updateClient, values)
    await recordAct(sql, by, 'client.updated', `client:${client.id}`, now, { ...change })
    return updated!
  })
}

export async function setClientStatus(db: Database, client: Client, status: Client['status'], by: Actor, now: Date) {
  await db.transaction(async (sql) => {
    await sql.query(table.updateClientStatus, [client.id, status, now])
    await recordAct(sql, by, status === 'active' ? 'client.activated' : 'client.suspended', `client:${client.id}`, now)
  })
}

export async function getClient(sql: Sql, id: string): Promise<Client> {
  const [client] = await sql.query<Client>(table.selectClient, [id])
  if (!client) throw new NotFound(`There is no client "${id}".`)
  return client
}

export function listClients(sql: Sql, branchId: number | undefined): Promise<Client[]> {
  return sql.query<Client>(table.selectClients, [branchId])
}

function checkDraft(draft: ClientDraft, environment: Environment, development: boolean): readonly Scope[] {
  const problems: FieldProblem[] = []
  const nameProblem = findNameProblem(draft.name, 100)
  if (nameProblem) problems.push({ field: 'name', problem: nameProblem })
  const callbackProblem = findCallbackProblem(draft.callbackUrl, { environment, development })
  if (callbackProblem) problems.push({ field: 'callback', problem: callbackProblem })
  const parsed = parseScopes(draft.scope)
  if (parsed.kind === 'none') problems.push({ field: 'scope', problem: 'must name at least one scope' })
  if (parsed.kind === 'unknown') problems.push({ field: 'scope', problem: `has the unknown word "${parsed.word}"` })
  if (problems.length > 0 || parsed.kind !== 'scopes') throw new Invalid(problems)
  return parsed.scopes
}

/** What the applications with these ids are called. */
export async function findClientNames(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.query<{ id: string; name: string }>(table.selectClientNames, [ids])
  return new Map(rows.map(({ id, name }) => [id, name]))
}
