import { advisoryLocks } from '../../database/advisory-locks.ts'
import { statement } from '../../database/database.ts'

/** The class of the locks by which workers are known to live. */
export const lifeLock = advisoryLocks.workerLife

/** Whether `l` of pg_locks is one of them that is held, in this database. */
const isLife = `l.locktype = 'advisory' AND l.classid = ${lifeLock} AND l.objsubid = 2 AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const alive = `
  alive AS MATERIALIZED (
    SELECT l.objid::bigint AS number FROM pg_locks l WHERE ${isLife})`

export const registerWorker = statement(
  'register_worker',
  'INSERT INTO workers (id, seen_at, lanes) VALUES ($1, $2, 0) RETURNING number',
)

/**
 * A worker says that it is there, which is what its lanes are leased by, and sees who else is: how many, how many lanes they hold, whether anybody follows a
 * log with them, and how many are gone: those whose lock nobody holds, and those that have been silent since $6. Answers no row to a worker that was taken
 * for gone.
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
     coalesce(bool_or(w.follows AND w.lives), false) AS follows, count(w.id) FILTER (WHERE NOT w.lives OR w.seen_at < $6) AS missing
   FROM me LEFT JOIN (SELECT *, number IN (SELECT number FROM alive) AS lives FROM workers WHERE id <> $1) w ON true GROUP BY me.id`,
)

/** Those whose lock nobody has held since $1, and those that have been silent since $2. Who was missed after now ($3) was so by a clock that has been set back since. */
export const buryWorkers = statement(
  'bury_workers',
  `WITH ${alive}
   DELETE FROM workers WHERE ((missed_at <= $1 OR missed_at > $3) AND number NOT IN (SELECT number FROM alive)) OR seen_at < $2 RETURNING number`,
)

export const selectNumbers = statement('select_worker_numbers', 'SELECT number FROM workers')

export const removeWorker = statement('remove_worker', 'DELETE FROM workers WHERE id = $1')

/** For people to see. Who has been silent for $2 seconds before $1, or before the newest word of anybody, is silent. */
export const selectSeenWorkers = statement(
  'select_seen_workers',
  `SELECT w.number, w.lanes, host(a.client_addr) AS address, a.backend_start AS since, w.seen_at AS "seenAt",
     CASE WHEN l.pid IS NULL THEN 'gone' WHEN w.seen_at < coalesce($1::timestamptz, (SELECT max(seen_at) FROM workers)) - make_interval(secs => $2) THEN 'silent' ELSE 'well' END AS state
   FROM workers w
   LEFT JOIN pg_locks l ON l.objid::bigint = w.number AND ${isLife}
   LEFT JOIN pg_stat_activity a ON a.pid = l.pid
   ORDER BY w.number`,
)
