import { advisoryLocks } from '../../database/advisory-locks.ts'
import { bool, float, instant, int, oneOf, orNull, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

/** The class of the locks by which workers are known to live. */
export const lifeLock = advisoryLocks.workerLife

/** Whether `l` of pg_locks is one of them that is held, in this database. */
const isLife = `l.locktype = 'advisory' AND l.classid = ${lifeLock} AND l.objsubid = 2 AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const alive = `
  alive AS MATERIALIZED (
    SELECT l.objid::bigint AS number FROM pg_locks l WHERE ${isLife})`

export const giveNumber = statement({
  name: 'give_worker_number',
  gives: { number: int },
  text: `SELECT nextval(pg_get_serial_sequence('workers', 'number'))::int AS number`,
})

/** By whom the lock of this number is held: without it others take the worker for gone. */
export const registerWorker = statement({
  name: 'register_worker',
  takes: { id: uuid, number: int, now: instant },
  text: 'INSERT INTO workers (id, number, seen_at, lanes) VALUES (:id, :number, :now, 0)',
})

/**
 * A worker reports that it lives, so that its lanes stay its own, and sees the others: how many there are,
 * how many lanes they hold, whether a client follows a log with them, and how many are gone: those whose lock
 * no connection holds, and those that have been silent for too long. Answers no row to a worker that was
 * taken for gone.
 */
export const reportWorker = statement({
  name: 'report_worker',
  takes: { id: uuid, now: instant, lanes: int, absentSince: instant, follows: bool, silentSince: instant },
  gives: { others: int, lanes: int, follows: bool, missing: int },
  text: `WITH ${alive},
   me AS (
     UPDATE workers SET seen_at = :now, lanes = :lanes, follows = :follows, missed_at = NULL
     WHERE id = :id RETURNING id),
   judged AS (
     UPDATE workers SET missed_at = CASE WHEN missed_at IS NULL THEN :now END
     WHERE id <> :id AND (missed_at IS NULL) = (number NOT IN (SELECT number FROM alive)))
   SELECT count(w.id) FILTER (WHERE w.lives AND w.seen_at >= :absentSince) AS others,
     coalesce(sum(w.lanes) FILTER (WHERE w.lives AND w.seen_at >= :absentSince), 0)::int AS lanes,
     coalesce(bool_or(w.follows AND w.lives), false) AS follows, count(w.id) FILTER (WHERE NOT w.lives
       OR w.seen_at < :silentSince) AS missing
   FROM me LEFT JOIN (SELECT *, number IN (SELECT number FROM alive) AS lives FROM workers WHERE id <> :id) w
     ON true GROUP BY me.id`,
})

/**
 * Workers whose lock no connection has held for a while, and those that have been silent for too long. A
 * worker missed at a time after now was missed by a clock that has been set back since.
 */
export const evictWorkers = statement({
  name: 'evict_workers',
  takes: { missingSince: instant, silentSince: instant, now: instant },
  gives: { number: int },
  text: `WITH ${alive}
   DELETE FROM workers WHERE ((missed_at <= :missingSince OR missed_at > :now) AND number
     NOT IN (SELECT number
     FROM alive)) OR seen_at < :silentSince RETURNING number`,
})

export const selectNumbers = statement({
  name: 'select_worker_numbers',
  gives: { number: int },
  text: 'SELECT number FROM workers',
})

export const removeWorker = statement({
  name: 'remove_worker',
  takes: { id: uuid },
  text: 'DELETE FROM workers WHERE id = :id',
})

/**
 * For people to see. A worker that has not reported for so many seconds before now, or before the newest
 * report of any worker, is silent.
 */
export const selectSeenWorkers = statement({
  name: 'select_seen_workers',
  takes: { now: orNull(instant), silentSeconds: float },
  gives: {
    number: int,
    lanes: int,
    address: orNull(text),
    since: orNull(instant),
    seenAt: instant,
    state: oneOf('well', 'silent', 'gone'),
  },
  text: `SELECT w.number, w.lanes, host(a.client_addr) AS address, a.backend_start AS since,
    w.seen_at AS "seenAt",
     CASE WHEN l.pid IS NULL THEN 'gone' WHEN w.seen_at < coalesce(:now::timestamptz, (SELECT max(seen_at)
       FROM workers)) - make_interval(secs => :silentSeconds) THEN 'silent' ELSE 'well' END AS state
   FROM workers w
   LEFT JOIN pg_locks l ON l.objid::bigint = w.number AND ${isLife}
   LEFT JOIN pg_stat_activity a ON a.pid = l.pid
   ORDER BY w.number`,
})
