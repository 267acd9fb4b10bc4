/** What is declared has a name of its own for each kind and site, and a label of whoever declares it. */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict } from '../problem.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './object-names.sql.ts'

export type ObjectKind =
  | 'partners'
  | 'clients'
  | 'services'
  | 'sources'
  | 'webhooks'
  | 'providers'
  | 'role-maps'

export const namePattern = '^[a-z0-9][a-z0-9.-]{0,99}$'

/** Where a name is one: what both sites share is named once. */
interface NamePlace {
  readonly kind: ObjectKind
  readonly site: 'both' | Environment
}

export interface ObjectName {
  readonly name: string
  readonly objectId: string
  readonly owner: string | null
}

/** One transaction at a time has to do with what has this name, whether or not there is something yet. */
export async function holdName(sql: Sql, place: NamePlace, name: string): Promise<ObjectName | undefined> {
  await sql.query(table.lockName, { ...place, name })
  return findNamed(sql, place, name)
}

export async function findNamed(sql: Sql, place: NamePlace, name: string): Promise<ObjectName | undefined> {
  const [row] = await sql.query(table.selectNamed, { ...place, name })
  return row
}

interface NameQuestion {
  readonly after: string
  readonly owner?: string | undefined
  readonly most: number
}

export function listNames(sql: Sql, place: NamePlace, question: NameQuestion): Promise<ObjectName[]> {
  return sql.query(table.selectNames, { ...place, ...question })
}

/** What they are called, by id. */
export async function findNames(
  sql: Sql,
  kind: ObjectKind,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query(table.selectNamesOf, { kind, ids: [...new Set(ids)] })
  return new Map(rows.map(({ objectId, name }) => [objectId, name]))
}

interface Naming extends ObjectName {
  readonly kind: ObjectKind
  /** As the audit log has it. */
  readonly subject: string
}

export async function nameObject(
  sql: Sql,
  { kind, objectId, name, owner, subject }: Naming,
  act: Act,
): Promise<void> {
  await sql.query(table.updateName, { kind, objectId, name, owner }).catch((error: unknown) => {
    throw violates(error, 'object_names_by_name') ? new Conflict(`"${name}" was taken a moment ago.`) : error
  })
  await recordAct(sql, act, 'object.labelled', subject, { kind, name, owner })
}
