import { statement } from '../database/database.ts'

export const insertAuditEntry = statement(
  'insert_audit_entry',
  `INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
)

/** By name: a column that a later release adds must not change what a prepared statement answers. */
export const entryColumns = 'id, at, actor, action, subject, environment, address, request_id AS "requestId", details'

export const selectNewest = statement(
  'select_newest_audit_entries',
  `SELECT ${entryColumns} FROM audit_entries
   WHERE ($1::text IS NULL OR actor = $1) AND ($2::text IS NULL OR action LIKE $2) AND ($3::text IS NULL OR subject = $3)
   ORDER BY id DESC LIMIT $4`,
)

/** The newest about any of these, down the index of each; of one action, or of its first half, where that is given. */
export const selectNewestAbout = statement(
  'select_newest_about',
  `SELECT newest.* FROM unnest($1::text[]) AS about (what) CROSS JOIN LATERAL (
     SELECT ${entryColumns} FROM audit_entries
     WHERE subject = what AND ($3::text IS NULL OR starts_with(action, $3 || '.')) ORDER BY id DESC LIMIT $2) newest
   ORDER BY newest.id DESC LIMIT $2`,
)

export const selectIds = statement(
  'select_entry_ids',
  'SELECT id FROM audit_entries WHERE id = ANY ($1::bigint[]) ORDER BY id DESC',
)

/** Each part walks an index of its own; the second and the third are made for this question (migrations/0004-audit.sql). */
export const selectHistory = statement(
  'select_history',
  `SELECT ${entryColumns} FROM (
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
