import { statement } from '../database/database.ts'

/** The class of the locks by which workers are known to live. */
export const lifeLock = 7_267_107

const alive = `
  alive AS MATERIALIZED (
    SELECT objid::bigint AS number FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${lifeLock} AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`

export const registerWorker = statement(
  'register_worker',
  'INSERT INTO workers (id, seen_at, lanes) VALUES ($1, $2, 0) RETURNING number',
)

/**
 * A worker says that it is there, and sees who else is: how many, how many lanes they hold, whether anybody follows a log with them, and
 * how many have gone without a word. Answers no row to a worker that was taken for gone.
 */
export const reportWorker = statement(
  'report_worker',
  `WITH ${alive},
   me AS (
     UPDATE workers SET seen_at = $2, lanes = $3, follows = $5, missed_at = NULL WHERE id = $1 RETURNING id),
   judged AS (
     UPDATE workers SET missed_at = CASE WHEN missed_at IS NULL THEN $2 END
     WHERE id <> $1 AND (missed_at IS NULL) = (number NOT IN (SELECT number FROM alive)))
   SELECT count(w.id) FILTER (WHERE w.lives AND w.seen_at >= $4) AS others, coalesce(sum(w.lanes) FILTER (WHERE w.lives AND w.seen_at >= $4), 0)::int AS lanes,
     coalesce(bool_or(w.follows AND w.lives), false) AS follows, count(w.id) FILTER (WHERE NOT w.lives) AS missing
   FROM me LEFT JOIN (SELECT *, number IN (SELECT number FROM alive) AS lives FROM workers WHERE id <> $1) w ON true GROUP BY me.id`,
)

/** The lanes of workers that have been gone since then are anybody's at once. Answers how many lanes they were. */
export const buryWorkers = statement(
  'bury_workers',
  `WITH ${alive},
   dead AS MATERIALIZED (
     SELECT number FROM workers WHERE missed_at <= $2 AND number NOT IN (SELECT number FROM alive)),
   locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE held_by = ANY (ARRAY(SELECT number FROM dead)) ORDER BY webhook_id FOR UPDATE),
   freed AS (
     UPDATE lanes SET claim_id = NULL, held_by = NULL, attention_at = $1
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked)) AND held_by = ANY (ARRAY(SELECT number FROM dead)) RETURNING webhook_id),
   gone AS (DELETE FROM workers WHERE number = ANY (ARRAY(SELECT number FROM dead)))
   SELECT count(*) AS lanes FROM freed`,
)

export const removeWorker = statement('remove_worker', 'DELETE FROM workers WHERE id = $1')
