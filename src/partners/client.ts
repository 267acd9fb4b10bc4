/**
 * A registered OAuth application: its callback, the scopes it may ask for, and the environment it lives in.
 * The brokerage sets the most that it may ask for; members of the partner choose within it.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Sql, violates } from '../database/database.ts'
import { type FieldProblem, Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { covers, parseScopes, type Scope, scopes } from '../vocabulary/scope.ts'
import { findCallbackProblem } from './callback-url.ts'
import { addSecret } from './client-secret.ts'
import * as table from './clients.sql.ts'
import type { Partner } from './partner.ts'
import type { PartnerStatus } from './partner-status.ts'

export interface Client {
  readonly id: string
  readonly branchId: number
  readonly environment: Environment
  readonly name: string
  readonly callbackUrl: string
  /** What it may ask for now, as the partner chose. */
  readonly scopes: readonly Scope[]
  /** What the brokerage lets the partner choose from. */
  readonly scopesAtMost: readonly Scope[]
  /** Those that an account holder cannot leave out, where it asks for them. */
  readonly scopesRequired: readonly Scope[]
  readonly status: 'active' | 'suspended'
  readonly rotateRefreshTokens: boolean
  readonly createdAt: Date
  /** From when on FAPI 2.0 is demanded of it; null: never. */
  readonly fapi2From: Date | null
  /** Whether bearer tokens end then, or live out their time. */
  readonly fapi2EndsBearers: boolean
  /** Where its keys are; null where they are given. */
  readonly jwksUri: string | null
  /** Of its certificate, where an authority that the brokerage trusts issued it. */
  readonly certificateSubject: string | null
  readonly demandsDpopNonces: boolean
}

/** A client together with what decides whether it may act. */
export interface Registration extends Client {
  readonly partnerName: string
  readonly partnerStatus: PartnerStatus
  readonly refreshAccess: boolean
  /** In the order in which they were made. */
  readonly secrets: readonly table.LivingSecret[]
  readonly keys: readonly table.LivingKey[]
}

interface ClientDraft {
  readonly name: string
  readonly callbackUrl: string
  readonly scope: string
  readonly rotateRefreshTokens: boolean
}

/** What a member may register a client with; more is asked for. Nothing real is at stake in the sandbox. */
export const scopesOfNewClients: Record<Environment, readonly Scope[]> = {
  live: ['read', 'market'],
  sandbox: scopes,
}

interface ClientAct extends Act {
  readonly development: boolean
}

interface NewClient {
  readonly client: Client
  readonly secret: Token
}

/** As the brokerage does it: the scopes that it names are the most, too. */
export async function createClient(
  db: Sql,
  vault: Vault,
  partner: Partner,
  environment: Environment,
  draft: ClientDraft,
  acting: ClientAct,
): Promise<NewClient> {
  const chosen = checkDraft(draft, { environment, development: acting.development, atMost: scopes })
  return insertClient(db, vault, partner, environment, draft, { chosen, atMost: chosen }, acting)
}

/** As a member does it. */
export async function registerClient(
  db: Sql,
  vault: Vault,
  partner: Partner,
  environment: Environment,
  draft: ClientDraft,
  acting: ClientAct,
): Promise<NewClient> {
  const atMost = scopesOfNewClients[environment]
  const chosen = checkDraft(draft, { environment, development: acting.development, atMost })
  return insertClient(db, vault, partner, environment, draft, { chosen, atMost }, acting)
}

/** As the brokerage declares it: without a secret so far. */
export async function declareClient(
  db: Sql,
  partner: Partner,
  environment: Environment,
  { atMost, ...draft }: ClientDraft & { readonly atMost: readonly Scope[] },
  acting: ClientAct,
): Promise<Client> {
  const chosen = checkDraft(draft, { environment, development: acting.development, atMost })
  return insertAlone(db, partner, environment, draft, { chosen, atMost }, acting)
}

function insertClient(
  db: Sql,
  vault: Vault,
  partner: Partner,
  environment: Environment,
  draft: ClientDraft,
  bounds: ClientBounds,
  act: Act,
): Promise<NewClient> {
  return db.transaction(async (sql) => {
    const client = await insertAlone(sql, partner, environment, draft, bounds, act)
    const { secret } = await addSecret(sql, vault, client, act)
    return { client, secret }
  })
}

interface ClientBounds {
  readonly chosen: readonly Scope[]
  readonly atMost: readonly Scope[]
}

function insertAlone(
  db: Sql,
  partner: Partner,
  environment: Environment,
  { name, callbackUrl, rotateRefreshTokens }: ClientDraft,
  { chosen, atMost }: ClientBounds,
  act: Act,
): Promise<Client> {
  const id = randomLetters(24)
  return db.transaction(async (sql) => {
    const client = await sql.one(table.insertClient, {
      id,
      branchId: partner.branchId,
      environment,
      name: name.trim(),
      callbackUrl,
      scopes: chosen,
      scopesAtMost: atMost,
      rotateRefreshTokens,
      createdAt: act.at,
    })
    await recordAct(sql, act, 'client.created', `client:${id}`, {
      branchId: partner.branchId,
      environment,
      callbackUrl,
      scopes: chosen,
      scopesAtMost: atMost,
    })
    return client
  })
}

/** Within the most: a member who may change a client by this cannot widen it. */
export async function updateClient(
  db: Sql,
  client: Client,
  change: Partial<ClientDraft>,
  acting: ClientAct,
): Promise<Client> {
  const draft: ClientDraft = {
    name: change.name ?? client.name,
    callbackUrl: change.callbackUrl ?? client.callbackUrl,
    scope: change.scope ?? client.scopes.join(' '),
    rotateRefreshTokens: change.rotateRefreshTokens ?? client.rotateRefreshTokens,
  }
  const { environment, scopesAtMost: atMost } = client
  const chosen = checkDraft(draft, { environment, development: acting.development, atMost })
  return db.transaction(async (sql) => {
    const asked = change.scope === undefined ? undefined : chosen
    const values = {
      id: client.id,
      name: draft.name.trim(),
      callbackUrl: draft.callbackUrl,
      scopes: asked,
      rotateRefreshTokens: draft.rotateRefreshTokens,
      updatedAt: acting.at,
    }
    const updated = await sql.one(table.updateClient, values).catch((error: unknown) => {
      if (violates(error, 'clients_scopes_within_most')) throw new Invalid([tooWide(atMost)])
      throw violates(error, 'clients_fapi2_over_https') ? new Invalid([overHttp]) : error
    })
    await recordAct(sql, acting, 'client.updated', `client:${client.id}`, { ...change })
    return updated
  })
}

export async function setClientStatus(db: Sql, client: Client, status: Client['status'], act: Act) {
  await db.transaction(async (sql) => {
    await sql.query(table.updateClientStatus, { id: client.id, status, updatedAt: act.at })
    await recordAct(
      sql,
      act,
      status === 'active' ? 'client.activated' : 'client.suspended',
      `client:${client.id}`,
    )
  })
}

export async function getClient(sql: Sql, id: string): Promise<Client> {
  const [client] = await sql.query(table.selectClient, { id })
  if (!client) throw new NotFound(`There is no client "${id}".`)
  return client
}

export function listClientsByIds(sql: Sql, ids: readonly string[]): Promise<Client[]> {
  return sql.query(table.selectClientsByIds, { ids })
}

export function listClients(sql: Sql, branchId: number | undefined): Promise<Client[]> {
  return sql.query(table.selectClients, { branchId })
}

export function parseClientScopes(text: string): readonly Scope[] | FieldProblem {
  const parsed = parseScopes(text)
  if (parsed.kind === 'none') return { field: 'scope', problem: 'must name at least one scope' }
  if (parsed.kind === 'unknown') return { field: 'scope', problem: `has the unknown word "${parsed.word}"` }
  return parsed.scopes
}

const overHttp: FieldProblem = {
  field: 'callback',
  problem: 'must begin with https:// of a client that has, or is to have, FAPI 2.0',
}

function tooWide(atMost: readonly Scope[]): FieldProblem {
  return {
    field: 'scope',
    problem: `may name ${atMost.join(', ')}. More has to be asked for, and the brokerage decides`,
  }
}

/**
 * As the brokerage does it, which answers whatever the partner has asked for. What is newly allowed is on at
 * once, unless it says what the client asks for.
 */
export function setScopesAtMost(
  db: Sql,
  client: Client,
  atMost: readonly Scope[],
  act: Act,
  chosen?: readonly Scope[],
): Promise<Client> {
  return db.transaction(async (sql) => {
    const updated = await sql.one(table.updateScopesAtMost, {
      id: client.id,
      scopesAtMost: atMost,
      chosen,
      updatedAt: act.at,
    })
    const details = { branchId: client.branchId, scopesAtMost: atMost, ...(chosen && { scopes: chosen }) }
    await recordAct(sql, act, 'client.scopes_set', `client:${client.id}`, details)
    return updated
  })
}

/** What is allowed already, or what a member may register a client with: it takes nobody else. */
export function setScopesWithin(
  db: Sql,
  client: Client,
  { atMost, chosen }: ClientBounds,
  act: Act,
): Promise<Client> {
  const free = [...client.scopesAtMost, ...scopesOfNewClients[client.environment]]
  if (!covers(free, atMost)) throw new Error(`${atMost.join(', ')} is more than ${client.id} may be given.`)
  return setScopesAtMost(db, client, atMost, act, chosen)
}

/** As the brokerage does it: without these, it agrees, the client is of no use to an account holder. */
export function setScopesRequired(
  db: Sql,
  client: Client,
  scopesRequired: readonly Scope[],
  act: Act,
): Promise<Client> {
  return db.transaction(async (sql) => {
    const values = { id: client.id, scopesRequired, updatedAt: act.at }
    const updated = await sql.one(table.updateScopesRequired, values).catch((error: unknown) => {
      throw violates(error, 'clients_required_within_most')
        ? new Invalid([{ field: 'required', problem: `may name ${client.scopesAtMost.join(', ')}` }])
        : error
    })
    const details = { branchId: client.branchId, scopesRequired }
    await recordAct(sql, act, 'client.scopes_required', `client:${client.id}`, details)
    return updated
  })
}

interface Bounds {
  readonly environment: Environment
  readonly development: boolean
  readonly atMost: readonly Scope[]
}

function checkDraft(draft: ClientDraft, { environment, development, atMost }: Bounds): readonly Scope[] {
  const problems: FieldProblem[] = []
  const nameProblem = findNameProblem(draft.name, 100)
  if (nameProblem) problems.push({ field: 'name', problem: nameProblem })
  const callbackProblem = findCallbackProblem(draft.callbackUrl, { environment, development })
  if (callbackProblem) problems.push({ field: 'callback', problem: callbackProblem })
  const chosen = parseClientScopes(draft.scope)
  if ('field' in chosen) problems.push(chosen)
  else if (!covers(atMost, chosen)) problems.push(tooWide(atMost))
  if (problems.length > 0 || 'field' in chosen) throw new Invalid(problems)
  return chosen
}

/** By words of the name or by id; of all partners. */
export function findClientsNamed(sql: Sql, typed: string, most: number) {
  return sql.query(table.selectClientsNamed, { typed, most })
}
