/**
 * Imports as an operator sees them who is asked for a yes: which wait for one, and what each would remove.
 */
import type { Sql } from '../database/database.ts'
import type { Import } from './import.ts'
import * as table from './import-review.sql.ts'
import { lockImport, selectImport } from './imports.sql.ts'
import { kinds as order, type RecordKind } from './record.ts'

export function listWaitingForYes(sql: Sql, most: number): Promise<Import[]> {
  return sql.query(table.selectWaitingForYes, { most })
}

/** What was left out of a later file of everything must not be judged by an earlier one. */
export async function findNewerSnapshot(sql: Sql, id: number): Promise<number | undefined> {
  const [newer] = await sql.query(table.selectNewerSnapshot, { id })
  return newer?.id
}

interface Removal {
  readonly source: string
  readonly missing: number
  readonly known: number
  /** Of everything that would go. */
  readonly checksum: string
}

/** Held still until the transaction ends. Undefined when it waits no more, or must not be done any more. */
export async function holdRemoval(sql: Sql, id: number): Promise<Removal | undefined> {
  await sql.query(lockImport, { id })
  const [waiting] = await sql.query(selectImport, { id })
  if (waiting?.state !== 'needs approval' || (await findNewerSnapshot(sql, id)) !== undefined)
    return undefined
  const sum = await sql.one(table.sumMissing, { importId: id })
  return { source: waiting.source, known: waiting.known!, ...sum }
}

export interface MissingRecord {
  readonly kind: RecordKind
  readonly key: string
  /** A customer's, or the number of an account. */
  readonly name: string | null
  readonly userId: string | null
}

interface MissingKind {
  readonly kind: RecordKind
  readonly missing: number
  /** The first of them. */
  readonly sample: readonly MissingRecord[]
}

const sampled = 5

export async function describeMissing(sql: Sql, { id, source }: Import): Promise<MissingKind[]> {
  const kinds = await sql.query(table.countMissingKinds, { importId: id })
  const records = await sql.query(table.sampleMissing, { importId: id, source, most: sampled })
  return kinds
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind))
    .map((each) => ({ ...each, sample: records.filter(({ kind }) => kind === each.kind) }))
}
