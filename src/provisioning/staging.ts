/**
 * The way of many records into the database: printed as rows of COPY while they are read, copied into a table
 * of the transaction's own, and merged from there by one statement. The table is that of the type
 * `provisioned`, and goes with the transaction.
 */
import type { Act } from '../audit/audit.ts'
import { printCopied } from '../database/copy.ts'
import type { Sql } from '../database/database.ts'
import type { ImportMode, MergeResult } from './outcomes.ts'
import { mergeSnapshot, mergeStaged } from './provisioning.sql.ts'
import { type Origin, printHow } from './provisioning.ts'
import type { SourceRecord } from './record.ts'

/** In the order of `provisioned`, after its line, kind and op. */
const columns = [
  ...['version', 'changedAt', 'externalId', 'status', 'name', 'username', 'email', 'locale'],
  ...[
    'number',
    'type',
    'classification',
    'optionLevel',
    'dayTrader',
    'openedAt',
    'customer',
    'account',
    'role',
  ],
  'mayAuthorize',
] as const

const copyRows = 'COPY staged_records FROM STDIN'
const stagingTable = `CREATE TEMPORARY TABLE staged_records OF provisioned ON COMMIT DROP; ${copyRows}`
const stagedInstead = `TRUNCATE staged_records; ${copyRows}`

/** Of UTF-8, for what JavaScript counts as one. */
const bytesACharacter = 3

/**
 * Records without fault, as rows of COPY. They are written into memory that the next use again: thousands of
 * strings that live as long as their batch would be carried along by the garbage collector, while requests
 * wait for it.
 */
export class StagedRows {
  #bytes = Buffer.alloc(0)
  #length = 0
  /** Where each begins, and of which line it is. */
  #places: { readonly begin: number; readonly line: number }[] = []

  get isEmpty(): boolean {
    return this.#length === 0
  }

  get count(): number {
    return this.#places.length
  }

  /** Good until it is cleared: from one row up to another, all unless given. */
  bytes(from = 0, to = this.count): Buffer {
    return this.#bytes.subarray(this.#places[from]?.begin ?? 0, this.#places[to]?.begin ?? this.#length)
  }

  lineOf(row: number): number {
    return this.#places[row]!.line
  }

  add(record: Partial<SourceRecord>, line: number): void {
    const row = printRow(record, line)
    const needed = this.#length + bytesACharacter * row.length
    if (needed > this.#bytes.length) this.#bytes = Buffer.concat([this.bytes()], 2 * needed)
    this.#places.push({ begin: this.#length, line })
    this.#length += this.#bytes.write(row, this.#length)
  }

  clear(): void {
    this.#length = 0
    this.#places = []
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
export function stage(sql: Sql, rows: Buffer): Promise<void> {
  return sql.copy(stagingTable, rows)
}

/** Instead of what is staged. */
export function stageInstead(sql: Sql, rows: Buffer): Promise<void> {
  return sql.copy(stagedInstead, rows)
}

/** What is staged. All that is without fault is applied. */
export async function mergeAllStaged(
  sql: Sql,
  { id, source, environment, mode }: Origin & { readonly id: number; readonly mode: ImportMode },
  act: Act,
): Promise<MergeResult> {
  const values = {
    source,
    environment,
    actor: act.by.name,
    moment: act.at,
    how: printHow(act, `import:${id}`),
  }
  if (mode === 'changes') return (await sql.one(mergeStaged, values)).merged
  const { merged, known } = await sql.one(mergeSnapshot, values)
  return { ...merged, unchanged: merged.unchanged + known }
}
