/** What concerns one account holder: their own acts, and what others did to their account. Newest first, page by page. */
import { type Sql, statement } from '../database/database.ts'
import type { AuditEntry } from './audit.ts'

/** Each part walks an index of its own; the second and the third are made for this question (migrations/0004-audit.sql). */
const selectHistory = statement(
  'select_history',
  `SELECT id, at, actor, action, subject, environment, address, request_id, details FROM (
     (SELECT * FROM audit_entries WHERE actor = $1 AND id < $2 ORDER BY id DESC LIMIT $3)
     UNION ALL
     (SELECT * FROM audit_entries
      WHERE coalesce('user:' || (details ->> 'userId'), subject) = $1 AND id < $2
        AND actor NOT LIKE 'user:%' AND action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated')
      ORDER BY id DESC LIMIT $3)
     UNION ALL
     (SELECT * FROM audit_entries
      WHERE coalesce('user:' || (details ->> 'userId'), subject) = $1 AND id < $2
        AND actor LIKE 'user:%' AND actor <> coalesce('user:' || (details ->> 'userId'), subject)
        AND action NOT LIKE 'partner.%' AND coalesce('user:' || (details ->> 'userId'), subject) LIKE 'user:%'
      ORDER BY id DESC LIMIT $3)) AS told
   ORDER BY id DESC LIMIT $3`,
)

export interface HistoryPage {
  readonly entries: readonly AuditEntry[]
  /** Where the next page begins; undefined on the last one. */
  readonly before: number | undefined
}

export async function findHistory(
  sql: Sql,
  userId: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<HistoryPage> {
  const values = [`user:${userId}`, before ?? Number.MAX_SAFE_INTEGER, limit + 1]
  const found = await sql.query<AuditEntry>(selectHistory, values)
  const entries = found.slice(0, limit)
  return { entries, before: found.length > limit ? entries.at(-1)!.id : undefined }
}
