/**
 * Which systems of the brokerage say who there is. Each is named, for one site, before it may be spoken for:
 * a service by its credential, a role of the database by provision().
 */
import type { Act } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { codeOf, messageOf } from '../text/thrown.ts'
import { isSource, unknownSource } from '../vocabulary/source.ts'
import { type Origin, undefinedObject } from './provisioning.ts'
import * as table from './sources.sql.ts'

export interface NamedSource extends Origin {
  /** Roles of the database that may speak for it. */
  readonly roles: readonly string[]
  /** Null while it has said nothing. */
  readonly heardAt: Date | null
}

export function listNamedSources(sql: Sql): Promise<NamedSource[]> {
  return sql.query(table.selectNamedSources)
}

/** Whether customers come from a system of the brokerage. */
export async function hasSpoken(sql: Sql): Promise<boolean> {
  return (await sql.query(table.selectSpeaking)).length > 0
}

/** Throws unless it is one of this site. */
export async function getSource(sql: Sql, { source, environment }: Origin): Promise<NamedSource> {
  if (!isSource(source))
    throw new Invalid([{ field: 'source', problem: 'must be the name of a source, such as core' }])
  const [found] = await sql.query(table.selectSource, { name: source })
  if (!found) throw new Invalid([{ field: 'source', problem: unknownSource(source, environment) }])
  if (found.environment !== environment)
    throw new Invalid([{ field: 'source', problem: `is of the ${found.environment} site` }])
  return found
}

export function listSourcesByNames(sql: Sql, names: readonly string[]): Promise<NamedSource[]> {
  return sql.query(table.selectSourcesByNames, { names })
}

/** Held still until the transaction ends. */
export async function holdSource(sql: Sql, name: string): Promise<NamedSource | undefined> {
  const [held] = await sql.query(table.lockSource, { name })
  return held
}

/** Throws `Invalid` where it could not be named, or one of the roles is none. */
export async function checkSource(sql: Sql, name: string, roles: readonly string[]): Promise<void> {
  const unknown = await sql.query(table.selectUnknownRoles, { roles })
  const problems = [
    ...(isSource(name) ? [] : [{ field: 'name', problem: sourceRule }]),
    ...unknown.map(({ role }) => ({
      field: 'role',
      problem: `names "${role}", which the database does not have`,
    })),
  ]
  if (problems.length > 0) throw new Invalid(problems)
}

const sourceRule = 'must be a small letter, then small letters, digits or hyphens, 30 at most'

/** It is written with its entry in the log, as when an operator does it in SQL. */
export async function createSource(db: Sql, { source, environment }: Origin, act: Act): Promise<NamedSource> {
  if (!isSource(source)) throw new Invalid([{ field: 'name', problem: sourceRule }])
  await db
    .query(table.createSource, { source, environment, actor: act.by.name, moment: act.at })
    .catch((error) => {
      if (codeOf(error) !== '23505') throw error
      throw new Conflict(`There is a source "${source}" already.`)
    })
  return getSource(db, { source, environment })
}

interface RoleChange {
  readonly added: readonly string[]
  readonly withdrawn: readonly string[]
}

/** Counts from the next statement of every connection with such a role. */
export async function changeSourceRoles(
  db: Sql,
  name: string,
  change: RoleChange,
  act: Act,
): Promise<NamedSource> {
  return db.transaction(async (sql) => {
    const set = (role: string, may: boolean) =>
      sql
        .query(table.setSourceRole, { source: name, role, may, actor: act.by.name, moment: act.at })
        .catch((error) => {
          if (codeOf(error) !== undefinedObject) throw error
          throw new NotFound(messageOf(error))
        })
    for (const role of change.added) await set(role, true)
    for (const role of change.withdrawn) await set(role, false)
    const [changed] = await sql.query(table.selectSource, { name })
    if (!changed) throw new NotFound(`There is no source "${name}".`)
    return changed
  })
}
