import { advisoryLocks } from '../database/advisory-locks.ts'
import { bool, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { allowedModes, importStates } from './outcomes.ts'
import { kinds } from './record.ts'

export const importColumns = `id, source, environment, mode, dry_run AS "dryRun", as_of AS "asOf", state,
  lines, complete, bytes, total_bytes AS "totalBytes", created, changed, removed, unchanged, skipped, waiting,
  failed, missing, known, actor, request_id AS "requestId", started_at AS "startedAt",
  updated_at AS "updatedAt", finished_at AS "finishedAt"`

const snapshotsOf = (lock: string) =>
  `SELECT ${lock}(${advisoryLocks.snapshots}, hashtext(:source || ' ' || :environment))`

/**
 * Before a snapshot of the source begins: a transaction that removes what an older one lacks has committed,
 * or sees the new one when it takes the next. So snapshots begin in the order of their numbers, too.
 */
export const lockSnapshots = statement({
  name: 'lock_snapshots',
  takes: { source: text, environment: text },
  text: snapshotsOf('pg_advisory_xact_lock'),
})

/** Before anything of what a snapshot lacks is taken: none begins until it is committed. */
export const shareSnapshots = statement({
  name: 'share_snapshots',
  takes: { source: text, environment: text },
  text: snapshotsOf('pg_advisory_xact_lock_shared'),
})

/** Those of the same source that began later than the import `i`: what they have is not known to it. */
export const newerSnapshots = `SELECT n.id FROM imports n
     WHERE n.source = i.source AND n.environment = i.environment AND n.id > i.id AND n.mode = 'snapshot'
       AND NOT n.dry_run`

/** By what came of the records. */
const counts = {
  created: int,
  changed: int,
  removed: int,
  unchanged: int,
  skipped: int,
  waiting: int,
  failed: int,
}

export const importRow = {
  id: int,
  source: text,
  environment: oneOf(...environments),
  mode: oneOf(...allowedModes),
  dryRun: bool,
  asOf: orNull(int),
  state: oneOf(...importStates),
  lines: int,
  complete: bool,
  bytes: int,
  totalBytes: orNull(int),
  ...counts,
  missing: orNull(int),
  known: orNull(int),
  actor: text,
  requestId: orNull(text),
  startedAt: instant,
  updatedAt: instant,
  finishedAt: orNull(instant),
}

export const insertImport = statement({
  name: 'insert_import',
  takes: {
    source: text,
    environment: text,
    mode: text,
    dryRun: bool,
    asOf: orNull(int),
    totalBytes: orNull(int),
    actor: text,
    requestId: orNull(text),
    startedAt: instant,
  },
  gives: importRow,
  text: `INSERT INTO imports (source, environment, mode, dry_run, as_of, total_bytes, actor, request_id,
     started_at, updated_at)
   VALUES (:source, :environment, :mode, :dryRun, :asOf, :totalBytes, :actor, :requestId, :startedAt,
     :startedAt) RETURNING ${importColumns}`,
})

export const selectImport = statement({
  name: 'select_import',
  takes: { id: int },
  gives: importRow,
  text: `SELECT ${importColumns} FROM imports WHERE id = :id`,
})

/** The newest first: of a site, of sources, before an import, each where it is given. */
export const selectImports = statement({
  name: 'select_imports',
  takes: { environment: orNull(text), sources: orNull(list(text)), before: orNull(int), most: int },
  gives: importRow,
  text: `SELECT ${importColumns} FROM imports
   WHERE (:environment::text IS NULL OR environment = :environment)
     AND (:sources::text[] IS NULL OR source = ANY (:sources))
     AND (:before::bigint IS NULL OR id < :before) ORDER BY id DESC LIMIT :most`,
})

export const selectFaults = statement({
  name: 'select_import_faults',
  takes: { importId: int, afterLine: int, most: int },
  gives: { line: int, field: text, problem: text },
  text: `SELECT line, field, problem FROM import_faults
   WHERE import_id = :importId AND line > :afterLine ORDER BY line LIMIT :most`,
})

/**
 * Of two requests that go on with the same import one does: the one that has read from another line than is
 * committed changes nothing.
 */
export const advanceImport = statement({
  name: 'advance_import',
  takes: {
    ...counts,
    id: int,
    lines: int,
    reached: int,
    bytes: int,
    updatedAt: instant,
    isComplete: bool,
  },
  gives: importRow,
  text: `UPDATE imports SET lines = :reached, bytes = bytes + :bytes, created = created + :created,
     changed = changed + :changed, removed = removed + :removed, unchanged = unchanged + :unchanged,
     skipped = skipped + :skipped, waiting = waiting + :waiting, failed = failed + :failed,
     updated_at = :updatedAt, complete = complete OR :isComplete
   WHERE id = :id AND lines = :lines AND state = 'running' RETURNING ${importColumns}`,
})

/** As long as no more are kept of one import. */
export const insertFaults = statement({
  name: 'insert_import_faults',
  takes: { importId: int, lines: list(int), fields: list(text), problems: list(text), most: int },
  text: `INSERT INTO import_faults (import_id, line, field, problem)
   SELECT :importId, fault.line, fault.field, fault.problem
     FROM unnest(:lines::bigint[], :fields::text[], :problems::text[]) AS fault (line, field, problem)
   ORDER BY fault.line
   LIMIT greatest(0, :most - (SELECT count(*) FROM import_faults WHERE import_id = :importId))
   ON CONFLICT DO NOTHING`,
})

/** What would come of a batch is undone, what was staged stays. */
export const beginTrial = statement({ name: 'begin_trial', text: 'SAVEPOINT trial' })
export const undoTrial = statement({ name: 'undo_trial', text: 'ROLLBACK TO SAVEPOINT trial' })

/** A part of a batch, and what was staged for it, when PostgreSQL refuses it. */
export const beginPart = statement({ name: 'begin_part', text: 'SAVEPOINT part' })
export const undoPart = statement({ name: 'undo_part', text: 'ROLLBACK TO SAVEPOINT part' })

/**
 * A record by its kind and key is a mark of 64 bits here, and a source is compared in so many parts, by the
 * last bits of the mark: what a statement has in hand is a small share of a source, however large that is.
 */
export const parts = 64
const markOf = (key: string) => `hashtextextended(${key}, 0)`
const partOf = (mark: string) => `${mark} & ${parts - 1}`

/** Of what this transaction has staged. */
export const insertSeen = statement({
  name: 'insert_import_seen',
  takes: { importId: int },
  text: `INSERT INTO import_seen (import_id, part, marks)
   SELECT :importId, ${partOf('mark')}, array_agg(mark)
   FROM (SELECT ${markOf(`kind || ' ' || coalesce("externalId", customer || ' ' || account)`)} AS mark
     FROM pg_temp.staged_records) AS s GROUP BY 2`,
})

/**
 * Than when the snapshot began, or no newer than the greatest version that it can have: what is newer is not
 * missing.
 */
const isOlder = 'CASE WHEN :asOf::bigint IS NULL THEN k.updated_at < :startedAt ELSE k.version <= :asOf END'

const noteKnown = `noted AS (
     INSERT INTO import_known (import_id, part, keys)
     SELECT :importId, ${partOf(markOf('key'))}, array_agg(key)
     FROM (SELECT k.kind || ' ' || k.key AS key FROM known k WHERE ${isOlder}) AS k GROUP BY 2)
   SELECT (SELECT max(external_id) FROM page) AS last, (SELECT count(*) FROM known) AS known`

const page = {
  takes: { importId: int, source: text, startedAt: instant, asOf: orNull(int), after: text, most: int },
  gives: { last: orNull(text), known: int },
}

/**
 * A page of customers with what they hold; answers the last of them, and how many records that are. The
 * source of an account is asked in a way that no index answers: counted while there was none of it, the index
 * of sources would be believed to find one row, and finds them all.
 */
export const noteKnownCustomers = statement({
  name: 'note_known_customers',
  ...page,
  text: `WITH page AS MATERIALIZED (
     SELECT id, external_id, version, updated_at FROM customers_after(:source, :after, :most)),
   known AS MATERIALIZED (
     SELECT 'customer' AS kind, external_id AS key, version, updated_at FROM page
     UNION ALL SELECT 'holding', page.external_id || ' ' || held.external_id, held.version, held.updated_at
       FROM page CROSS JOIN LATERAL (
       SELECT a.external_id, h.version, h.updated_at FROM holdings h
       CROSS JOIN LATERAL (SELECT external_id FROM accounts WHERE account_number = h.account_number
         AND source IS NOT DISTINCT FROM :source OFFSET 0) AS a
       WHERE h.user_id = page.id AND h.status <> 'removed' AND h.version IS NOT NULL OFFSET 0) AS held),
   ${noteKnown}`,
})

export const noteKnownAccounts = statement({
  name: 'note_known_accounts',
  ...page,
  text: `WITH page AS MATERIALIZED (
     SELECT external_id, version, last_update_date AS updated_at FROM accounts_after(:source, :after, :most)),
   known AS MATERIALIZED (SELECT 'account' AS kind, external_id AS key, version, updated_at FROM page),
   ${noteKnown}`,
})

export const forgetKnown = statement({
  name: 'forget_known',
  takes: { importId: int },
  text: 'DELETE FROM import_known WHERE import_id = :importId',
})

/** Of one part. */
export const findMissing = statement({
  name: 'find_missing',
  takes: { importId: int, part: int },
  text: `INSERT INTO import_missing (import_id, kind, key)
   SELECT :importId, split_part(key, ' ', 1), substr(key, strpos(key, ' ') + 1) FROM (
     SELECT max(key) AS key FROM (
       SELECT ${markOf('k.key')} AS mark, k.key FROM import_known n
         CROSS JOIN LATERAL unnest(n.keys) AS k (key) WHERE n.import_id = :importId AND n.part = :part
       UNION ALL SELECT s.mark, NULL FROM import_seen i CROSS JOIN LATERAL unnest(i.marks) AS s (mark)
         WHERE i.import_id = :importId AND i.part = :part) AS both_sides
     GROUP BY mark HAVING count(*) = count(key)) AS missing
   ON CONFLICT DO NOTHING`,
})

export const countMissing = statement({
  name: 'count_missing',
  takes: { importId: int },
  gives: { missing: int },
  text: 'SELECT count(*) AS missing FROM import_missing WHERE import_id = :importId',
})

/** From one state to another, once. */
export const turnImport = statement({
  name: 'turn_import',
  takes: {
    id: int,
    from: list(text),
    to: text,
    missing: orNull(int),
    known: orNull(int),
    updatedAt: instant,
  },
  gives: importRow,
  text: `UPDATE imports SET state = :to, missing = coalesce(:missing, missing),
     known = coalesce(:known, known), updated_at = :updatedAt,
     finished_at = CASE WHEN :to IN ('finished', 'stopped') THEN :updatedAt::timestamptz END
   WHERE id = :id AND state = ANY (:from::text[]) RETURNING ${importColumns}`,
})

/** One transaction removes at a time: the next one finds what is left. */
export const lockImport = statement({
  name: 'lock_import',
  takes: { id: int },
  text: 'SELECT FROM imports WHERE id = :id FOR NO KEY UPDATE',
})

/**
 * Some of what is missing, holdings first: what a customer held ends as a holding, and not because the
 * customer is gone. Nothing once a newer snapshot has begun, which may have it: this counts by
 * `share_snapshots` of the same transaction.
 */
export const takeMissing = statement({
  name: 'take_missing',
  takes: { importId: int, most: int },
  gives: { kind: oneOf(...kinds), key: text },
  text: `DELETE FROM import_missing WHERE ctid = ANY (ARRAY(
     SELECT m.ctid FROM import_missing m WHERE m.import_id = :importId AND EXISTS (
       SELECT FROM imports i
       WHERE i.id = :importId AND i.state = 'removing' AND NOT EXISTS (${newerSnapshots}))
     ORDER BY m.kind DESC, m.key LIMIT :most)) RETURNING kind, key`,
})

/** Those of which nothing newer was said meanwhile, with the versions that are known of them. */
export const selectStillMissing = statement({
  name: 'select_still_missing',
  takes: { kinds: list(text), keys: list(text), source: text, startedAt: instant, asOf: orNull(int) },
  gives: { kind: oneOf(...kinds), key: text, version: orNull(int) },
  text: `SELECT t.kind, t.key, k.version
   FROM unnest(:kinds::text[], :keys::text[]) AS t (kind, key) CROSS JOIN LATERAL (
     SELECT u.version, u.updated_at FROM users u WHERE t.kind = 'customer' AND u.source = :source
       AND u.external_id = t.key COLLATE "C" AND u.removed_at IS NULL
     UNION ALL SELECT a.version, a.last_update_date FROM accounts a
       WHERE t.kind = 'account' AND a.source = :source AND a.external_id = t.key COLLATE "C"
         AND a.removed_at IS NULL
     UNION ALL SELECT h.version, h.updated_at
       FROM (SELECT id FROM users WHERE t.kind = 'holding' AND source = :source
         AND external_id = split_part(t.key, ' ', 1) COLLATE "C" OFFSET 0) AS u
       CROSS JOIN LATERAL (SELECT account_number FROM accounts
         WHERE source = :source AND external_id = split_part(t.key, ' ', 2) COLLATE "C" OFFSET 0) AS a
       CROSS JOIN LATERAL (SELECT version, updated_at FROM holdings
         WHERE user_id = u.id AND account_number = a.account_number
           AND status <> 'removed' OFFSET 0) AS h OFFSET 0) AS k
   WHERE ${isOlder}`,
})

export const countRemoved = statement({
  name: 'count_removed',
  takes: { id: int, removed: int, updatedAt: instant },
  text: 'UPDATE imports SET removed = removed + :removed, updated_at = :updatedAt WHERE id = :id',
})

/**
 * When nothing is left, or what is left is not to be removed any more. What is left is forgotten with the
 * rest (`forgetMissing`).
 */
export const endRemoving = statement({
  name: 'end_removing',
  takes: { id: int, at: instant },
  gives: importRow,
  text: `WITH rest AS (SELECT EXISTS (SELECT FROM import_missing WHERE import_id = :id) AS "isLeft")
   UPDATE imports i SET state = CASE WHEN rest."isLeft" THEN 'stopped' ELSE 'finished' END,
     finished_at = :at, updated_at = :at
   FROM rest
   WHERE i.id = :id AND i.state = 'removing' AND (NOT rest."isLeft" OR EXISTS (${newerSnapshots}))
   RETURNING ${importColumns}`,
})

/** What is not needed any more: of imports that have ended, and of those that were not continued for long. */
const forget = (table: string) =>
  statement({
    name: `forget_${table}`,
    takes: { before: instant, most: int },
    gives: { importId: int },
    text: `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT k.ctid FROM imports i
       CROSS JOIN LATERAL (SELECT ctid FROM ${table} WHERE import_id = i.id LIMIT :most) AS k
       WHERE i.finished_at IS NOT NULL OR i.updated_at <= :before LIMIT :most))
     RETURNING import_id AS "importId"`,
  })
export const forgetSeen = forget('import_seen')
export const forgetKnownOfOld = forget('import_known')
export const forgetMissing = forget('import_missing')

export const areRemoving = `EXISTS (SELECT FROM imports WHERE state = 'removing')`

export const selectRemoving = statement({
  name: 'select_removing',
  gives: importRow,
  text: `SELECT ${importColumns} FROM imports WHERE state = 'removing' ORDER BY id`,
})

/** And imports that were not continued. */
export const deleteOldImports = statement({
  name: 'delete_old_imports',
  takes: { before: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM imports WHERE id = ANY (ARRAY(
     SELECT id FROM imports
     WHERE finished_at <= :before OR (finished_at IS NULL AND updated_at <= :before) LIMIT :most))
   RETURNING id`,
})
