import { int, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { importColumns, importRow, newerSnapshots } from './imports.sql.ts'
import { kinds, type RecordKind } from './record.ts'

/** What waits longest first. */
export const selectWaitingForYes = statement({
  name: 'select_imports_needing_approval',
  takes: { most: int },
  gives: importRow,
  text: `SELECT ${importColumns} FROM imports WHERE state = 'needs approval' ORDER BY id LIMIT :most`,
})

/** The first of them. */
export const selectNewerSnapshot = statement({
  name: 'select_newer_snapshot',
  takes: { id: int },
  gives: { id: int },
  text: `SELECT n.id FROM imports i CROSS JOIN LATERAL (${newerSnapshots}) AS n WHERE i.id = :id
   ORDER BY n.id LIMIT 1`,
})

/** All that would go, as a number that is another one when anything of it is. */
export const sumMissing = statement({
  name: 'sum_missing',
  takes: { importId: int },
  gives: { missing: int, checksum: text },
  text: `SELECT count(*) AS missing,
     coalesce(sum(hashtextextended(kind || ' ' || key, 0)), 0)::text AS checksum
   FROM import_missing WHERE import_id = :importId`,
})

export const countMissingKinds = statement({
  name: 'count_missing_kinds',
  takes: { importId: int },
  gives: { kind: oneOf(...kinds), missing: int },
  text: 'SELECT kind, count(*) AS missing FROM import_missing WHERE import_id = :importId GROUP BY kind',
})

/**
 * The first so many of each kind, by the names that people know them by: `userId` where there is a page of
 * them.
 */
export const sampleMissing = statement({
  name: 'sample_missing',
  takes: { importId: int, source: text, most: int },
  gives: { kind: oneOf(...kinds), key: text, name: orNull(text), userId: orNull(text) },
  text: `(SELECT m.kind, m.key, u.name, u.id AS "userId" FROM (${firstOf('customer')}) AS m
      LEFT JOIN users u ON u.source = :source AND u.external_id = m.key)
   UNION ALL (SELECT m.kind, m.key, a.account_number, NULL FROM (${firstOf('account')}) AS m
      LEFT JOIN accounts a ON a.source = :source AND a.external_id = m.key)
   UNION ALL (SELECT m.kind, m.key, NULL, NULL FROM (${firstOf('holding')}) AS m)`,
})

function firstOf(kind: RecordKind): string {
  return `SELECT kind, key FROM import_missing WHERE import_id = :importId AND kind = '${kind}' ORDER BY key
    LIMIT :most`
}
