import { statement } from '../database/database.ts'
import { columns, newerSnapshots } from './imports.sql.ts'

/** What waits longest first. */
export const selectWaitingForYes = statement(
  'select_imports_waiting_for_yes',
  `SELECT ${columns} FROM imports WHERE state = 'needs approval' ORDER BY id LIMIT $1`,
)

/** The first of them. */
export const selectNewerSnapshot = statement(
  'select_newer_snapshot',
  `SELECT n.id FROM imports i CROSS JOIN LATERAL (${newerSnapshots}) AS n WHERE i.id = $1 ORDER BY n.id LIMIT 1`,
)

/** All that would go, as a number that is another one when anything of it is. */
export const sumMissing = statement(
  'sum_missing',
  `SELECT count(*) AS missing, coalesce(sum(hashtextextended(kind || ' ' || key, 0)), 0)::text AS checksum FROM import_missing WHERE import_id = $1`,
)

export const countMissingKinds = statement(
  'count_missing_kinds',
  'SELECT kind, count(*) AS missing FROM import_missing WHERE import_id = $1 GROUP BY kind',
)

/** The first $3 of each kind, by the names that people know them by: `userId` where there is a page of them. */
export const sampleMissing = statement(
  'sample_missing',
  `(SELECT m.kind, m.key, u.name, u.id AS "userId" FROM (${firstOf('customer')}) AS m
      LEFT JOIN users u ON u.source = $2 AND u.external_id = m.key)
   UNION ALL (SELECT m.kind, m.key, a.account_number, NULL FROM (${firstOf('account')}) AS m
      LEFT JOIN accounts a ON a.source = $2 AND a.external_id = m.key)
   UNION ALL (SELECT m.kind, m.key, NULL, NULL FROM (${firstOf('holding')}) AS m)`,
)

function firstOf(kind: string): string {
  return `SELECT kind, key FROM import_missing WHERE import_id = $1 AND kind = '${kind}' ORDER BY key LIMIT $3`
}
