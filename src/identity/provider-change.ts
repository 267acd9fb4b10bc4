/**
 * A provider is set up otherwise, and keeps its people: links are the issuer's, and sessions go on. What it
 * hands out is judged as when it was added.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Act, recordAct } from '../audit/audit.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { dropProvidedRoles } from '../users/staff-role.ts'
import { keysOf } from '../vocabulary/record-of.ts'
import { refuseHandingOut } from './handed-out.ts'
import { moveIdentities, selectAnyIdentity } from './identities.sql.ts'
import {
  factsOf,
  handedOutBy,
  type Provider,
  type ProviderFacts,
  readCredential,
  sealFor,
} from './provider.ts'
import { findFactsProblems } from './provider-draft.ts'
import * as table from './providers.sql.ts'

/**
 * The kind of its users, its name in addresses, its issuer and how the gateway authenticates stay as they
 * are.
 */
export type ProviderChange = Partial<Omit<ProviderFacts, 'name' | 'kind' | 'issuer' | 'proof'>>

/** Throws `Invalid`. */
export function changed(provider: ProviderFacts, change: ProviderChange): ProviderFacts {
  const after = factsOf({ ...provider, ...change })
  const problems = findFactsProblems(after, true)
  if (problems.length > 0) throw new Invalid(problems)
  return { ...after, label: after.label.trim() }
}

/** What differs, by name. */
export function findDifferences(before: ProviderFacts, after: ProviderFacts): string[] {
  const [was, is] = [factsOf(before), factsOf(after)]
  return keysOf(is).filter((name) => !isDeepStrictEqual(was[name], is[name]))
}

/** What is believed, and of whom, stays as it was, or less is. */
export function isNarrower(before: ProviderFacts, after: ProviderFacts): boolean {
  const mapped = Object.entries(after.roleMap).every(([value, role]) => before.roleMap[value] === role)
  const free = ['label', 'scopes', 'logoutEnds', ...(mapped ? ['roleMap'] : [])]
  return findDifferences(before, after).every((name) => free.includes(name))
}

/** In the transaction that it is handed. False when there is nothing to change, or it is gone. */
export async function changeProvider(db: Sql, id: number, after: ProviderFacts, act: Act): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [before] = await sql.query(table.lockProvider, { id })
    const differences = before ? findDifferences(before, after) : []
    if (!before || differences.length === 0) return false
    await refuseHandingOut(sql, after, act)
    await sql.query(table.updateProvider, { ...after, id })
    // Staff lose a role that the map no longer gives, without waiting for their next sign-in.
    if (differences.includes('roleMap') || differences.includes('rolesClaim'))
      await dropProvidedRoles(
        sql,
        before,
        act,
        undefined,
        after.rolesClaim === null ? [] : Object.values(after.roleMap),
      )
    // A draft, or a provider that was narrowed, lets no further user in.
    const opensNothing = before.enabledAt === null || isNarrower(before, after)
    await recordChange(sql, after, { changed: differences, ...(opensNothing && { opens: 'nothing' }) }, act)
    return true
  })
}

interface Change {
  /** By name. */
  readonly changed: readonly string[]
  readonly opens?: 'nothing'
}

function recordChange(sql: Sql, after: ProviderFacts, change: Change, act: Act): Promise<void> {
  return recordAct(sql, act, 'provider.changed', `provider:${after.name}`, {
    ...handedOutBy(after),
    ...change,
  })
}

/**
 * The same provider at another address. Its users go with it, so the owner of the new issuer speaks for all
 * of them: only an operator on the machine may do this, who could link any user by hand.
 */
export async function moveProvider(
  db: Sql,
  vault: Vault,
  provider: Provider,
  { issuer, allowLoopback }: { readonly issuer: string; readonly allowLoopback: boolean },
  act: Act,
): Promise<void> {
  const after = { ...factsOf(provider), issuer }
  const problems = findFactsProblems(after, allowLoopback)
  if (problems.length > 0) throw new Invalid(problems)
  await db.transaction(async (sql) => {
    await sql.query(table.lockProvider, { id: provider.id })
    const { credential } = await readCredential(sql, vault, provider)
    const [taken] = await sql.query(selectAnyIdentity, { issuer })
    if (taken) throw new Conflict(`People are linked to ${issuer} already, from a provider that was removed.`)
    await sql
      .query(table.updateIssuer, { id: provider.id, issuer, sealed: sealFor(vault, issuer, credential) })
      .catch((error: unknown) => {
        if (violates(error, 'identity_providers_issuer_key'))
          throw new Invalid([{ field: 'issuer', problem: 'is a provider already' }])
        throw error
      })
    await sql.query(table.deleteDocuments, { providerId: provider.id })
    await sql.query(moveIdentities, { from: provider.issuer, to: issuer })
    await recordChange(sql, after, { changed: ['issuer'] }, act)
  })
}
