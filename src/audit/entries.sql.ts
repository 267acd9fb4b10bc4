import { instant, int, json, jsonText, list, oneOf, orNull, text, word } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import type { AuditAction } from './action.ts'

export const insertAuditEntry = statement({
  name: 'insert_audit_entry',
  takes: {
    at: instant,
    actor: text,
    action: text,
    subject: text,
    environment: orNull(text),
    address: orNull(text),
    requestId: orNull(text),
    /** Printed. */
    details: jsonText,
  },
  text: `INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
   VALUES (:at, :actor, :action, :subject, :environment, :address, :requestId, :details)`,
})

/** By name: a column that a later release adds must not change what a prepared statement answers. */
export const entryColumns =
  'id, at, actor, action, subject, environment, address, request_id AS "requestId", details'

export const entryRow = {
  id: int,
  at: instant,
  actor: text,
  action: word<AuditAction>(),
  subject: text,
  environment: orNull(oneOf(...environments)),
  address: orNull(text),
  requestId: orNull(text),
  details: json<Record<string, unknown>>(),
}

export const selectNewest = statement({
  name: 'select_newest_audit_entries',
  takes: { actor: orNull(text), pattern: orNull(text), subject: orNull(text), most: int },
  gives: entryRow,
  text: `SELECT ${entryColumns} FROM audit_entries
   WHERE (:actor::text IS NULL OR actor = :actor) AND (:pattern::text IS NULL OR action LIKE :pattern)
     AND (:subject::text IS NULL OR subject = :subject)
   ORDER BY id DESC LIMIT :most`,
})

/**
 * The newest about any of these, down the index of each; of one action, or of its first half, where that is
 * given.
 */
export const selectNewestAbout = statement({
  name: 'select_newest_about',
  takes: { subjects: list(text), most: int, room: orNull(text) },
  gives: entryRow,
  text: `SELECT newest.* FROM unnest(:subjects::text[]) AS about (what) CROSS JOIN LATERAL (
     SELECT ${entryColumns} FROM audit_entries
     WHERE subject = what AND (:room::text IS NULL OR starts_with(action, :room || '.')) ORDER BY id DESC
       LIMIT :most) newest
   ORDER BY newest.id DESC LIMIT :most`,
})

export const selectIds = statement({
  name: 'select_entry_ids',
  takes: { ids: list(int) },
  gives: { id: int },
  text: 'SELECT id FROM audit_entries WHERE id = ANY (:ids::bigint[]) ORDER BY id DESC',
})

/**
 * Each part walks an index of its own; the second and the third are made for this question
 * (migrations/0001-audit.sql).
 */
export const selectHistory = statement({
  name: 'select_history',
  takes: { whom: text, before: int, most: int },
  gives: entryRow,
  text: `SELECT ${entryColumns} FROM (
     (SELECT * FROM audit_entries WHERE actor = :whom AND id < :before ORDER BY id DESC LIMIT :most)
     UNION ALL
     (SELECT * FROM audit_entries
      WHERE coalesce('user:' || (details ->> 'userId'), subject) = :whom AND id < :before
        AND actor NOT LIKE 'user:%' AND action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated')
      ORDER BY id DESC LIMIT :most)
     UNION ALL
     (SELECT * FROM audit_entries
      WHERE coalesce('user:' || (details ->> 'userId'), subject) = :whom AND id < :before
        AND actor LIKE 'user:%' AND actor <> coalesce('user:' || (details ->> 'userId'), subject)
        AND action NOT LIKE 'partner.%' AND coalesce('user:' || (details ->> 'userId'), subject) LIKE 'user:%'
      ORDER BY id DESC LIMIT :most)) AS told
   ORDER BY id DESC LIMIT :most`,
})
