/**
 * The brokerage's identity providers. One is for holders or for staff, never for both, and an issuer stands
 * here once. What it is asked with (a secret, or a private key) is sealed.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Sql, violates } from '../database/database.ts'
import type { SealedRow, SealedTable } from '../database/reseal.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { dropProvidedRoles } from '../users/staff-role.ts'
import { refuseHandingOut } from './handed-out.ts'
import {
  findCredentialProblems,
  findDraftProblems,
  findFactsProblems,
  type ProviderCredential,
  type ProviderDraft,
} from './provider-draft.ts'
import * as table from './providers.sql.ts'

export interface Provider extends ProviderFacts {
  readonly id: number
  readonly createdAt: Date
  /** Since when it is asked with the credential that it has. */
  readonly credentialAt: Date
  /** Null: it is a draft, and no user can sign in there yet. */
  readonly enabledAt: Date | null
  readonly lookedAt: Date | null
  readonly awaySince: Date | null
  readonly awayWhy: string | null
  readonly answeredAt: Date | null
  /** How far a node was ahead of it, by the last ID token that it issued, and when that was. */
  readonly aheadMs: number | null
  readonly aheadAt: Date | null
  /** A draft may wait for it. */
  readonly hasCredential: boolean
}

/** Whether it says when a second factor was given. */
export function vouches({ strongAcr, strongAmr }: Pick<Provider, 'strongAcr' | 'strongAmr'>): boolean {
  return strongAcr.length > 0 || strongAmr.length > 0
}

interface Development {
  readonly allowLoopback: boolean
}

/** From now on people sign in there. */
export const addProvider: Write = (...given) => write('provider.added', ...given)

/** Stores it, to be tested and enabled: so far it changes nothing for any user. */
export const draftProvider: Write = (...given) => write('provider.drafted', ...given)

type ProviderArguments = [db: Sql, vault: Vault, draft: ProviderDraft, development: Development, act: Act]
type Write = (...args: ProviderArguments) => Promise<Provider>
type ProviderAction = 'provider.added' | 'provider.drafted'

async function write(
  action: ProviderAction,
  ...[db, vault, draft, { allowLoopback }, act]: ProviderArguments
): Promise<Provider> {
  const problems = await findDraftProblems(draft, allowLoopback)
  if (problems.length > 0) throw new Invalid(problems)
  const sealed = sealFor(vault, draft.issuer, draft.credential)
  return insert(db, action, { ...factsOf(draft), sealed }, act)
}

/** A draft that has to be given its credential before it can be enabled. */
export async function declareProvider(
  db: Sql,
  facts: ProviderFacts,
  { allowLoopback }: Development,
  act: Act,
): Promise<Provider> {
  const problems = findFactsProblems(facts, allowLoopback)
  if (problems.length > 0) throw new Invalid(problems)
  return insert(db, 'provider.drafted', { ...factsOf(facts), sealed: null }, act)
}

function insert(
  db: Sql,
  action: ProviderAction,
  given: ProviderFacts & { readonly sealed: Buffer | null },
  act: Act,
): Promise<Provider> {
  const enabledAt = action === 'provider.added' ? act.at : null
  const values = { ...given, label: given.label.trim(), createdAt: act.at, enabledAt }
  return db.transaction(async (sql) => {
    await refuseHandingOut(sql, given, act)
    const written = await sql.one(table.insertProvider, values).catch(tellTaken)
    await record(sql, action, written, act)
    return written
  })
}

/** False when it is enabled already, or gone. */
export async function enableProvider(db: Sql, id: number, act: Act): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [enabled] = await sql.query(table.enableDraft, { id, enabledAt: act.at })
    if (!enabled) return false
    await refuseHandingOut(sql, enabled, act)
    await record(sql, 'provider.added', enabled, act)
    return true
  })
}

function record(sql: Sql, action: ProviderAction, { name, ...facts }: Provider, act: Act): Promise<void> {
  return recordAct(sql, act, action, `provider:${name}`, handedOutBy(facts))
}

/** For the audit log: which provider it is, and what it hands out. */
export function handedOutBy(facts: Omit<ProviderFacts, 'name'>): Record<string, unknown> {
  const { issuer, kind, clientId, linkClaim, linkSource, rolesClaim, roleMap } = facts
  const handsOut = kind === 'staff' ? { rolesClaim, roleMap } : { linkClaim, linkSource }
  return { issuer, kind, clientId, ...handsOut }
}

function tellTaken(error: unknown): never {
  if (violates(error, 'identity_providers_name_key'))
    throw new Invalid([{ field: 'name', problem: 'is taken' }])
  if (violates(error, 'identity_providers_issuer_key'))
    throw new Invalid([
      { field: 'issuer', problem: 'is a provider already: its people are holders or staff, not both' },
    ])
  throw error
}

export function listProvidersByIds(sql: Sql, ids: readonly number[]): Promise<Provider[]> {
  return sql.query(table.selectProvidersByIds, { ids })
}

/** At which people sign in. */
export function listProviders(sql: Sql): Promise<Provider[]> {
  return sql.query(table.selectProviders)
}

/** With those that are not enabled yet. */
export function listEveryProvider(sql: Sql): Promise<Provider[]> {
  return sql.query(table.selectEveryProvider)
}

/** One at which people sign in. */
export async function findProvider(sql: Sql, name: string): Promise<Provider | undefined> {
  const [provider] = await sql.query(table.selectProvider, { name })
  return provider
}

/** Also one that is not enabled yet. */
export async function getProvider(sql: Sql, name: string): Promise<Provider> {
  const [provider] = await sql.query(table.selectAnyProvider, { name })
  if (!provider) throw new NotFound(`There is no identity provider "${name}".`)
  return provider
}

/** Held still until the transaction ends; undefined when it is gone. */
export async function holdProvider(sql: Sql, id: number): Promise<Provider | undefined> {
  const [provider] = await sql.query(table.lockProvider, { id })
  return provider
}

/** All that it is set up by, but for its credential. */
export type ProviderFacts = Omit<ProviderDraft, 'credential'>

export function factsOf(provider: ProviderFacts): ProviderFacts {
  const { name, kind, label, issuer, clientId, proof, scopes, linkClaim, linkSource } = provider
  const { strongAcr, strongAmr, ownSecondStep, rolesClaim, roleMap, logoutEnds } = provider
  return {
    ...{ name, kind, label, issuer, clientId, proof, scopes, linkClaim, linkSource },
    ...{ strongAcr, strongAmr, ownSecondStep, rolesClaim, roleMap, logoutEnds },
  }
}

export async function findProviderById(sql: Sql, id: number): Promise<Provider | undefined> {
  const [provider] = await sql.query(table.selectProviderById, { id })
  return provider
}

/**
 * Ends every session that it vouched for, and takes every role that it gave. People stay linked to its
 * issuer. False when it is gone already.
 */
export async function removeProvider(db: Sql, provider: Provider, act: Act): Promise<boolean> {
  const { id, name, issuer } = provider
  return db.transaction(async (sql) => {
    const [removed] = await sql.query(table.deleteProvider, { id })
    if (!removed) return false
    await dropProvidedRoles(sql, provider, act)
    await recordAct(sql, act, 'provider.removed', `provider:${name}`, { issuer })
    return true
  })
}

function purposeOf(issuer: string): string {
  return `identity-provider:${issuer}`
}

export function sealFor(vault: Vault, issuer: string, credential: string): Buffer {
  return vault.seal(purposeOf(issuer), credential)
}

/** Used from the next sign-in on. Users who are signed in or linked stay so. */
export async function replaceCredential(
  db: Sql,
  vault: Vault,
  { id, name, issuer }: Provider,
  { proof, credential }: ProviderCredential,
  act: Act,
): Promise<void> {
  const problems = await findCredentialProblems({ proof, credential })
  if (problems.length > 0) throw new Invalid(problems)
  const sealed = sealFor(vault, issuer, credential)
  await db.transaction(async (sql) => {
    const [replaced] = await sql.query(table.updateCredential, { id, proof, sealed, credentialAt: act.at })
    if (!replaced) throw new NotFound(`There is no identity provider "${name}" any more.`)
    await recordAct(sql, act, 'provider.credential_replaced', `provider:${name}`, { proof })
  })
}

/**
 * As it is now, with the way it is proven: a caller that found the provider a moment ago may know another.
 */
export async function readCredential(
  sql: Sql,
  vault: Vault,
  { id, issuer }: Provider,
): Promise<ProviderCredential> {
  const [row] = await sql.query(table.selectCredential, { id })
  if (row?.sealed === null) throw new Conflict(`The identity provider ${issuer} was given no credential yet.`)
  const credential = row && vault.open(purposeOf(issuer), row.sealed)
  if (row && credential !== undefined) return { proof: row.proof, credential }
  throw new Error(`The credential of the identity provider ${issuer} cannot be opened.`)
}

export const sealedProviders: SealedTable<SealedRow & { readonly issuer: string }> = {
  select: table.selectSealed,
  read: table.readSealed,
  update: table.updateSealed,
  purposeOf: ({ issuer }) => purposeOf(issuer),
}
