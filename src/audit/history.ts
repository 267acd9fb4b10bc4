/**
 * What concerns one account holder: their own acts, and what others did to their account. Newest first, page
 * by page.
 */
import type { Sql } from '../database/database.ts'
import type { AuditEntry } from './audit.ts'
import { selectHistory } from './entries.sql.ts'

interface HistoryPage {
  readonly entries: readonly AuditEntry[]
  /** Where the next page begins; undefined on the last one. */
  readonly before: number | undefined
}

export async function findHistory(
  sql: Sql,
  userId: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<HistoryPage> {
  const found = await sql.query(selectHistory, {
    whom: `user:${userId}`,
    before: before ?? Number.MAX_SAFE_INTEGER,
    most: limit + 1,
  })
  const entries = found.slice(0, limit)
  return { entries, before: found.length > limit ? entries.at(-1)?.id : undefined }
}
