/**
 * The way of many records into the database: printed as rows of COPY while they are read, copied into a table of the transaction's own, and merged from there
 * by one statement. The table is that of the type `provisioned`, and goes with the transaction.
 */
import type { Act } from '../audit/audit.ts'
import { printCopied } from '../database/copy.ts'
import type { Sql } from '../database/database.ts'
import { mergeSnapshot, mergeStaged } from './provisioning.sql.ts'
import type { ImportMode, Merged, Origin } from './provisioning.ts'
import type { SourceRecord } from './record.ts'

/** In the order of `provisioned`, after its line, kind and op. */
const columns = [
  ...['version', 'changedAt', 'externalId', 'status', 'name', 'username', 'email', 'locale'],
  ...['number', 'type', 'classification', 'optionLevel', 'dayTrader', 'openedAt', 'customer', 'account', 'role'],
  'mayAuthorize',
] as const

const stagingTable =
  'CREATE TEMPORARY TABLE staged_records OF provisioned ON COMMIT DROP; COPY staged_records FROM STDIN'

/** Of UTF-8, for what JavaScript counts as one. */
const bytesACharacter = 3

/**
 * Records without fault, as rows of COPY. They are written into memory that the next use again: thousands of strings that live as long as their batch would be
 * carried along by the garbage collector, while requests wait for it.
 */
export class StagedRows {
  #bytes = Buffer.alloc(0)
  #length = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** Good until it is cleared. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  add(record: Partial<SourceRecord>, line: number): void {
    const row = printRow(record, line)
    const needed = this.#length + bytesACharacter * row.length
    if (needed > this.#bytes.length) this.#bytes = Buffer.concat([this.bytes], 2 * needed)
    this.#length += this.#bytes.write(row, this.#length)
  }

  clear(): void {
    this.#length = 0
  }
}

function printRow(record: Partial<SourceRecord>, line: number): string {
  let row = `${line}\t${record.kind}\t${record.op ?? 'upsert'}`
  for (const column of columns) row += `\t${printField(record[column])}`
  return `${row}\n`
}

function printField(value: unknown): string {
  return printCopied(Array.isArray(value) ? `{${[...new Set(value)].join()}}` : (value as string | undefined))
}

/** For the rest of the transaction. */
export function stage(sql: Sql, { bytes }: StagedRows): Promise<void> {
  return sql.copy(stagingTable, bytes)
}

/** What is staged. All that is without fault is applied. */
export async function mergeAllStaged(
  sql: Sql,
  { source, environment, mode }: Origin & { readonly mode: ImportMode },
  act: Act,
): Promise<Merged> {
  const values = [source, environment, act.by.name, act.at]
  if (mode === 'changes') return (await sql.query<{ merged: Merged }>(mergeStaged, values))[0]!.merged
  const [row] = await sql.query<{ merged: Merged; known: number }>(mergeSnapshot, values)
  const { merged, known } = row!
  return { ...merged, unchanged: merged.unchanged + known }
}
