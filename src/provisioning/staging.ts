/**
 * The way of many records into the database: printed as rows of COPY while they are read, copied into a table of the transaction's own, and merged from there
 * by one statement. The table is that of the type `provisioned`, and goes with the transaction.
 */
import type { Act } from '../audit/audit.ts'
import { printCopied } from '../database/copy.ts'
import type { Sql } from '../database/database.ts'
import { mergeStaged } from './provisioning.sql.ts'
import type { Merged, Origin } from './provisioning.ts'
import type { SourceRecord } from './record.ts'

/** In the order of `provisioned`, after its line, kind and op. */
const columns = [
  ...['version', 'changedAt', 'externalId', 'status', 'name', 'username', 'email', 'locale'],
  ...['number', 'type', 'classification', 'optionLevel', 'dayTrader', 'openedAt', 'customer', 'account', 'role'],
  'mayAuthorize',
] as const

const stagingTable =
  'CREATE TEMPORARY TABLE staged_records OF provisioned ON COMMIT DROP; COPY staged_records FROM STDIN'

/** A record without fault, as a row of COPY. */
export function printStaged(record: Partial<SourceRecord>, line: number): string {
  let row = `${line}\t${record.kind}\t${record.op ?? 'upsert'}`
  for (const column of columns) row += `\t${printField(record[column])}`
  return `${row}\n`
}

function printField(value: unknown): string {
  return printCopied(Array.isArray(value) ? `{${[...new Set(value)].join()}}` : (value as string | undefined))
}

/** For the rest of the transaction. */
export function stage(sql: Sql, rows: string): Promise<void> {
  return sql.copy(stagingTable, Buffer.from(rows))
}

/** What is staged. All that is without fault is applied. */
export async function mergeAllStaged(sql: Sql, { source, environment }: Origin, act: Act): Promise<Merged> {
  const [row] = await sql.query<{ merged: Merged }>(mergeStaged, [source, environment, act.by.name, act.at])
  return row!.merged
}
