/**
 * Seals the stored values of a table under the vault's current key, page by page, so that nothing is locked
 * for long.
 */
import { sealedKeyId, type Vault } from '../crypto/vault.ts'
import type { Sql } from './database.ts'
import { lockKeys } from './keys.sql.ts'
import type { Statement } from './statement.ts'

const pageSize = 200

interface Page {
  readonly id: number
  readonly most: number
}

export interface SealedRow {
  readonly id: number
  readonly sealed: Buffer
}

export interface SealedTable<Row extends SealedRow = SealedRow> {
  /** Rows after an id, at most so many, locked. */
  readonly select: Statement<Page, Row>
  /** The same without a lock, for reports that only read. */
  readonly read: Statement<Page, Row>
  readonly update: Statement<{ readonly id: number; readonly sealed: Buffer }, object>
  readonly purposeOf: (row: Row) => string
}

/** Answers how many were sealed under another key. */
export async function reseal<Row extends SealedRow>(
  db: Sql,
  vault: Vault,
  { select, update, purposeOf }: SealedTable<Row>,
  progress: (resealed: number) => void,
): Promise<number> {
  let lastId = 0
  let resealed = 0
  for (;;) {
    const page = await db.transaction(async (sql) => {
      const rows = await sql.query(select, { id: lastId, most: pageSize })
      for (const row of rows.filter(({ sealed }) => sealedKeyId(sealed) !== vault.currentKeyId)) {
        const plain = vault.open(purposeOf(row), row.sealed)
        if (plain === undefined)
          throw new Error(
            `A stored secret is sealed with a key that is not configured (${sealedKeyId(row.sealed)}).`,
          )
        await sql.query(update, { id: row.id, sealed: vault.seal(purposeOf(row), plain) })
        resealed++
      }
      return rows
    })
    const last = page.at(-1)
    if (!last) return resealed
    lastId = last.id
    progress(resealed)
  }
}

/** One command at a time, from reading the keys to the last sealed secret. */
export function changeKeysAlone<Result>(db: Sql, work: () => Promise<Result>): Promise<Result> {
  return db.transaction(async (sql) => {
    await sql.query(lockKeys)
    return work()
  })
}
