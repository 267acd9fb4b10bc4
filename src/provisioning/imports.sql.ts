import { advisoryLocks } from '../database/advisory-locks.ts'
import { statement } from '../database/database.ts'

export const columns = `id, source, environment, mode, dry_run AS "dryRun", as_of AS "asOf", state, lines, complete, bytes, total_bytes AS "totalBytes",
   created, changed, removed, unchanged, skipped, waiting, failed, missing, known, actor, request_id AS "requestId",
   started_at AS "startedAt", updated_at AS "updatedAt", finished_at AS "finishedAt"`

const snapshotsOf = (lock: string) => `SELECT ${lock}(${advisoryLocks.snapshots}, hashtext($1 || ' ' || $2))`

/** Before a snapshot of the source begins: whoever removes what an older one lacks has committed, or sees it when they take the next. So they begin in the order of their numbers, too. */
export const lockSnapshots = statement('lock_snapshots', snapshotsOf('pg_advisory_xact_lock'))

/** Before anything of what a snapshot lacks is taken: none begins until it is committed. */
export const shareSnapshots = statement('share_snapshots', snapshotsOf('pg_advisory_xact_lock_shared'))

/** Those of the same source that began later than the import `i`: what they have is not known to it. */
export const newerSnapshots = `SELECT n.id FROM imports n
     WHERE n.source = i.source AND n.environment = i.environment AND n.id > i.id AND n.mode = 'snapshot' AND NOT n.dry_run`

export const insertImport = statement(
  'insert_import',
  `INSERT INTO imports (source, environment, mode, dry_run, as_of, total_bytes, actor, request_id, started_at, updated_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING ${columns}`,
)

export const selectImport = statement('select_import', `SELECT ${columns} FROM imports WHERE id = $1`)

/** The newest first: of a site, of sources, before an import, each where it is given. */
export const selectImports = statement(
  'select_imports',
  `SELECT ${columns} FROM imports
   WHERE ($1::text IS NULL OR environment = $1) AND ($2::text[] IS NULL OR source = ANY ($2)) AND ($3::bigint IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
)

/** After the line $2. */
export const selectFaults = statement(
  'select_import_faults',
  'SELECT line, field, problem FROM import_faults WHERE import_id = $1 AND line > $2 ORDER BY line LIMIT $3',
)

/** Of two who go on with the same import one does: whoever has read from another line than is committed changes nothing. */
export const advanceImport = statement(
  'advance_import',
  `UPDATE imports SET lines = $3, bytes = bytes + $4, created = created + $5, changed = changed + $6, removed = removed + $7, unchanged = unchanged + $8,
     skipped = skipped + $9, waiting = waiting + $10, failed = failed + $11, updated_at = $12, complete = complete OR $13
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

/** What would come of a batch is undone, what was staged stays. */
export const beginTrial = statement('begin_trial', 'SAVEPOINT trial')
export const undoTrial = statement('undo_trial', 'ROLLBACK TO SAVEPOINT trial')

/** A part of a batch, and what was staged for it, when PostgreSQL refuses it. */
export const beginPart = statement('begin_part', 'SAVEPOINT part')
export const undoPart = statement('undo_part', 'ROLLBACK TO SAVEPOINT part')

/**
 * A record by its kind and key is a mark of 64 bits here, and a source is compared in so many parts, by the last bits of the mark: what a statement has in hand
 * is a small share of a source, however large that is.
 */
export const parts = 64
const markOf = (key: string) => `hashtextextended(${key}, 0)`
const partOf = (mark: string) => `${mark} & ${parts - 1}`

/** Of what this transaction has staged. */
export const insertSeen = statement(
  'insert_import_seen',
  `INSERT INTO import_seen (import_id, part, marks)
   SELECT $1, ${partOf('mark')}, array_agg(mark)
   FROM (SELECT ${markOf(`kind || ' ' || coalesce("externalId", customer || ' ' || account)`)} AS mark FROM pg_temp.staged_records) AS s GROUP BY 2`,
)

/** $3 is when the snapshot began, $4 the greatest version that it can have: what is newer is not missing. */
const isOlder = 'CASE WHEN $4::bigint IS NULL THEN k.updated_at < $3 ELSE k.version <= $4 END'

const noteKnown = `noted AS (
     INSERT INTO import_known (import_id, part, keys)
     SELECT $1, ${partOf(markOf('key'))}, array_agg(key) FROM (SELECT k.kind || ' ' || k.key AS key FROM known k WHERE ${isOlder}) AS k GROUP BY 2)
   SELECT (SELECT max(external_id) FROM page) AS last, (SELECT count(*) FROM known) AS known`

/**
 * A page of customers with what they hold, after $5; answers the last of them, and how many records that are. The source of an account is asked in a way that no
 * index answers: counted while there was none of it, the index of sources would be believed to find one row, and finds them all.
 */
export const noteKnownCustomers = statement(
  'note_known_customers',
  `WITH page AS MATERIALIZED (
     SELECT id, external_id, version, updated_at FROM customers_after($2, $5, $6)),
   known AS MATERIALIZED (
     SELECT 'customer' AS kind, external_id AS key, version, updated_at FROM page
     UNION ALL SELECT 'holding', page.external_id || ' ' || held.external_id, held.version, held.updated_at FROM page CROSS JOIN LATERAL (
       SELECT a.external_id, h.version, h.updated_at FROM holdings h
       CROSS JOIN LATERAL (SELECT external_id FROM accounts WHERE account_number = h.account_number AND source IS NOT DISTINCT FROM $2 OFFSET 0) AS a
       WHERE h.user_id = page.id AND h.status <> 'removed' AND h.version IS NOT NULL OFFSET 0) AS held),
   ${noteKnown}`,
)

export const noteKnownAccounts = statement(
  'note_known_accounts',
  `WITH page AS MATERIALIZED (
     SELECT external_id, version, last_update_date AS updated_at FROM accounts_after($2, $5, $6)),
   known AS MATERIALIZED (SELECT 'account' AS kind, external_id AS key, version, updated_at FROM page),
   ${noteKnown}`,
)

export const forgetKnown = statement('forget_known', 'DELETE FROM import_known WHERE import_id = $1')

/** Of the part $2. */
export const findMissing = statement(
  'find_missing',
  `INSERT INTO import_missing (import_id, kind, key)
   SELECT $1, split_part(key, ' ', 1), substr(key, strpos(key, ' ') + 1) FROM (
     SELECT max(key) AS key FROM (
       SELECT ${markOf('k.key')} AS mark, k.key FROM import_known n CROSS JOIN LATERAL unnest(n.keys) AS k (key) WHERE n.import_id = $1 AND n.part = $2
       UNION ALL SELECT s.mark, NULL FROM import_seen i CROSS JOIN LATERAL unnest(i.marks) AS s (mark) WHERE i.import_id = $1 AND i.part = $2) AS both_sides
     GROUP BY mark HAVING count(*) = count(key)) AS missing
   ON CONFLICT DO NOTHING`,
)

export const countMissing = statement(
  'count_missing',
  'SELECT count(*) AS missing FROM import_missing WHERE import_id = $1',
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

/**
 * Some of what is missing, holdings first: what somebody held ends as that, and not because they are gone. Nothing once a newer snapshot has begun, which may have
 * it: this counts by `share_snapshots` of the same transaction.
 */
export const takeMissing = statement(
  'take_missing',
  `DELETE FROM import_missing WHERE ctid = ANY (ARRAY(
     SELECT m.ctid FROM import_missing m WHERE m.import_id = $1 AND EXISTS (
       SELECT FROM imports i WHERE i.id = $1 AND i.state = 'removing' AND NOT EXISTS (${newerSnapshots}))
     ORDER BY m.kind DESC, m.key LIMIT $2)) RETURNING kind, key`,
)

/** Those of which nothing newer was said meanwhile, with the versions that are known of them. */
export const selectStillMissing = statement(
  'select_still_missing',
  `SELECT t.kind, t.key, k.version FROM unnest($1::text[], $5::text[]) AS t (kind, key) CROSS JOIN LATERAL (
     SELECT u.version, u.updated_at FROM users u WHERE t.kind = 'customer' AND u.source = $2 AND u.external_id = t.key COLLATE "C" AND u.removed_at IS NULL
     UNION ALL SELECT a.version, a.last_update_date FROM accounts a
       WHERE t.kind = 'account' AND a.source = $2 AND a.external_id = t.key COLLATE "C" AND a.removed_at IS NULL
     UNION ALL SELECT h.version, h.updated_at
       FROM (SELECT id FROM users WHERE t.kind = 'holding' AND source = $2 AND external_id = split_part(t.key, ' ', 1) COLLATE "C" OFFSET 0) AS u
       CROSS JOIN LATERAL (SELECT account_number FROM accounts WHERE source = $2 AND external_id = split_part(t.key, ' ', 2) COLLATE "C" OFFSET 0) AS a
       CROSS JOIN LATERAL (SELECT version, updated_at FROM holdings
         WHERE user_id = u.id AND account_number = a.account_number AND status <> 'removed' OFFSET 0) AS h OFFSET 0) AS k
   WHERE ${isOlder}`,
)

export const countRemoved = statement(
  'count_removed',
  'UPDATE imports SET removed = removed + $2, updated_at = $3 WHERE id = $1',
)

/** When nothing is left, or what is left is not to be removed any more. What is left is forgotten with the rest (`forgetMissing`). */
export const endRemoving = statement(
  'end_removing',
  `WITH rest AS (SELECT EXISTS (SELECT FROM import_missing WHERE import_id = $1) AS "isLeft")
   UPDATE imports i SET state = CASE WHEN rest."isLeft" THEN 'stopped' ELSE 'finished' END, finished_at = $2, updated_at = $2
   FROM rest WHERE i.id = $1 AND i.state = 'removing' AND (NOT rest."isLeft" OR EXISTS (${newerSnapshots})) RETURNING ${columns}`,
)

/** What nobody asks for any more: of imports that have ended, and of those that nobody went on with since $1. */
const forget = (table: string) =>
  statement(
    `forget_${table}`,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT k.ctid FROM imports i CROSS JOIN LATERAL (SELECT ctid FROM ${table} WHERE import_id = i.id LIMIT $2) AS k
       WHERE i.finished_at IS NOT NULL OR i.updated_at <= $1 LIMIT $2)) RETURNING import_id AS "importId"`,
  )
export const forgetSeen = forget('import_seen')
export const forgetKnownOfOld = forget('import_known')
export const forgetMissing = forget('import_missing')

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
