import { statement } from '../database/database.ts'

const columns = `id, source, environment, mode, dry_run AS "dryRun", as_of AS "asOf", state, lines, bytes, total_bytes AS "totalBytes",
   created, changed, removed, unchanged, skipped, waiting, failed, missing, known, actor, request_id AS "requestId",
   started_at AS "startedAt", updated_at AS "updatedAt", finished_at AS "finishedAt"`

export const insertImport = statement(
  'insert_import',
  `INSERT INTO imports (source, environment, mode, dry_run, as_of, total_bytes, actor, request_id, started_at, updated_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING ${columns}`,
)

export const selectImport = statement('select_import', `SELECT ${columns} FROM imports WHERE id = $1`)

export const selectImports = statement(
  'select_imports',
  `SELECT ${columns} FROM imports WHERE $1::text IS NULL OR environment = $1 ORDER BY id DESC LIMIT $2`,
)

export const selectFaults = statement(
  'select_import_faults',
  'SELECT line, field, problem FROM import_faults WHERE import_id = $1 ORDER BY line LIMIT $2',
)

/** Of two who go on with the same import one does: whoever has read from another line than is committed changes nothing. */
export const advanceImport = statement(
  'advance_import',
  `UPDATE imports SET lines = $3, bytes = bytes + $4, created = created + $5, changed = changed + $6, removed = removed + $7, unchanged = unchanged + $8,
     skipped = skipped + $9, waiting = waiting + $10, failed = failed + $11, updated_at = $12
   WHERE id = $1 AND lines = $2 AND state = 'running' RETURNING ${columns}`,
)

/** $5 is how many are kept of one import. */
export const insertFaults = statement(
  'insert_import_faults',
  `INSERT INTO import_faults (import_id, line, field, problem)
   SELECT $1, fault.line, fault.field, fault.problem FROM unnest($2::bigint[], $3::text[], $4::text[]) AS fault (line, field, problem)
   ORDER BY fault.line LIMIT greatest(0, $5 - (SELECT count(*) FROM import_faults WHERE import_id = $1))
   ON CONFLICT DO NOTHING`,
)

export const insertSeen = statement(
  'insert_import_seen',
  `INSERT INTO import_keys (import_id, number, kind, is_there, keys)
   SELECT $1, $2, kind, true, array_agg(key) FROM unnest($3::text[], $4::text[]) AS seen (kind, key) GROUP BY kind`,
)

/** Everything that a source has said is there, under the names that a snapshot has for it. $2 is when the snapshot began, $3 the greatest version that it can have. */
const known = `SELECT 'customer' AS kind, u.external_id AS key, u.version, u.updated_at FROM users u WHERE u.source = $2 AND u.removed_at IS NULL
   UNION ALL SELECT 'account', a.external_id, a.version, a.last_update_date FROM accounts a WHERE a.source = $2 AND a.removed_at IS NULL
   UNION ALL SELECT 'holding', u.external_id || ' ' || a.external_id, h.version, h.updated_at
     FROM holdings h JOIN users u ON u.id = h.user_id JOIN accounts a USING (account_number)
     WHERE u.source = $2 AND a.source = $2 AND h.status <> 'removed' AND h.version IS NOT NULL`

/** Answers how many there are, and how many of them the snapshot does not have, which are written down in rows of $5. */
export const findMissing = statement(
  'find_missing',
  `WITH known AS MATERIALIZED (${known}),
   seen AS MATERIALIZED (SELECT kind, unnest(keys) COLLATE "C" AS key FROM import_keys WHERE import_id = $1 AND is_there),
   missing AS MATERIALIZED (
     SELECT k.kind, k.key, (row_number() OVER (PARTITION BY k.kind ORDER BY k.key) - 1) / $5 AS number FROM known k
     WHERE NOT EXISTS (SELECT FROM seen s WHERE s.kind = k.kind AND s.key = k.key)
       AND CASE WHEN $4::bigint IS NULL THEN k.updated_at < $3 ELSE k.version <= $4 END),
   kept AS (
     INSERT INTO import_keys (import_id, number, kind, is_there, keys)
     SELECT $1, number, kind, false, array_agg(key) FROM missing GROUP BY kind, number)
   SELECT (SELECT count(*) FROM known) AS known, (SELECT count(*) FROM missing) AS missing`,
)

/** From one state to another, once. */
export const turnImport = statement(
  'turn_import',
  `UPDATE imports SET state = $3, missing = coalesce($4, missing), known = coalesce($5, known), updated_at = $6,
     finished_at = CASE WHEN $3 IN ('finished', 'stopped') THEN $6::timestamptz END
   WHERE id = $1 AND state = ANY ($2::text[]) RETURNING ${columns}`,
)

/** Whoever removes goes alone: the next one finds what is left. */
export const lockImport = statement('lock_import', 'SELECT FROM imports WHERE id = $1 FOR NO KEY UPDATE')

/** One row of what is missing, holdings first: what somebody held ends as that, and not because they are gone. */
export const takeMissing = statement(
  'take_missing',
  `DELETE FROM import_keys WHERE (import_id, is_there, number, kind) = (
     SELECT k.import_id, k.is_there, k.number, k.kind FROM import_keys k JOIN imports i ON i.id = k.import_id
     WHERE k.import_id = $1 AND NOT k.is_there AND i.state = 'removing'
     ORDER BY k.kind DESC, k.number LIMIT 1) RETURNING kind, keys`,
)

/** Those of which nothing newer was said meanwhile, with the versions that are known of them. */
export const selectStillMissing = statement(
  'select_still_missing',
  `SELECT k.key, k.version FROM (${known}) AS k
   WHERE k.kind = $1 AND k.key = ANY ($5::text[]) AND CASE WHEN $4::bigint IS NULL THEN k.updated_at < $3 ELSE k.version <= $4 END`,
)

export const countRemoved = statement(
  'count_removed',
  'UPDATE imports SET removed = removed + $2, updated_at = $3 WHERE id = $1',
)

export const finishRemoving = statement(
  'finish_removing',
  `UPDATE imports SET state = 'finished', finished_at = $2, updated_at = $2
   WHERE id = $1 AND state = 'removing' AND NOT EXISTS (SELECT FROM import_keys WHERE import_id = $1 AND NOT is_there) RETURNING ${columns}`,
)

export const forgetKeys = statement('forget_import_keys', 'DELETE FROM import_keys WHERE import_id = $1')

export const areRemoving = `EXISTS (SELECT FROM imports WHERE state = 'removing')`

export const selectRemoving = statement(
  'select_removing',
  `SELECT ${columns} FROM imports WHERE state = 'removing' ORDER BY id`,
)

/** And what nobody went on with. */
export const deleteOldImports = statement(
  'delete_old_imports',
  `DELETE FROM imports WHERE id = ANY (ARRAY(
     SELECT id FROM imports WHERE finished_at <= $1 OR (finished_at IS NULL AND updated_at <= $1) LIMIT $2)) RETURNING id`,
)
