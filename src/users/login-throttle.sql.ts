import { bool, instant, int, interval, list, orNull, text, uuid } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/**
 * Counts an attempt before the password is looked at, so that a hundred parallel guesses are a hundred
 * attempts. A bucket that is waiting counts nothing and lets nothing through; while an address or a network
 * waits, nothing else is counted either: a client that is refused there makes neither a wider network wait
 * nor the user it names.
 */
export const countAttempt = statement({
  name: 'count_login_attempt',
  takes: {
    buckets: list(text),
    failureLimits: list(int),
    networks: list(text),
    now: instant,
    attempt: uuid,
    window: interval,
    firstWait: interval,
    longestWait: interval,
  },
  gives: { bucket: text, allowed: bool, blockedUntil: orNull(instant) },
  text: `WITH waiting AS (
     SELECT bucket FROM login_throttle WHERE bucket = ANY (:networks::text[]) AND blocked_until > :now)
   INSERT INTO login_throttle AS t (bucket, failures, started_at, attempt)
   SELECT bucket, 1, :now, :attempt
   FROM unnest(:buckets::text[], :failureLimits::int[]) AS asked (bucket, failure_limit)
   WHERE NOT EXISTS (SELECT FROM waiting) OR bucket IN (SELECT bucket FROM waiting) ORDER BY bucket
   ON CONFLICT (bucket) DO UPDATE SET
     attempt = CASE WHEN t.blocked_until > :now THEN t.attempt ELSE :attempt END,
     started_at = CASE WHEN t.blocked_until > :now
       OR greatest(t.started_at, t.blocked_until) > :now - :window::interval THEN t.started_at ELSE :now END,
     failures = CASE
       WHEN t.blocked_until > :now THEN t.failures
       WHEN greatest(t.started_at, t.blocked_until) > :now - :window::interval THEN t.failures + 1
       ELSE 1 END,
     blocked_until = CASE
       WHEN t.blocked_until > :now THEN t.blocked_until
       WHEN greatest(t.started_at, t.blocked_until) > :now - :window::interval
         AND t.failures + 1 >= (:failureLimits::int[])[array_position(:buckets::text[], t.bucket)]
       THEN :now + least(:longestWait::interval, :firstWait::interval * power(2, least(20,
         t.failures + 1 - (:failureLimits::int[])[array_position(:buckets::text[], t.bucket)])))
       END
   RETURNING bucket, attempt = :attempt AS allowed, blocked_until AS "blockedUntil"`,
})

/** The rows are locked in the order in which attempts are counted: addresses stand before users. */
export const forgiveAttempt = statement({
  name: 'forgive_login_attempt',
  takes: { userBucket: text, buckets: list(text), failureLimits: list(int) },
  text: `WITH held AS MATERIALIZED (
     SELECT bucket FROM login_throttle WHERE bucket = ANY (array_prepend(:userBucket::text, :buckets::text[]))
       ORDER BY bucket FOR UPDATE
   ), cleared AS (
     DELETE FROM login_throttle WHERE bucket = (SELECT bucket FROM held WHERE bucket = :userBucket)
   )
   UPDATE login_throttle AS t SET failures = greatest(1, failures - 1),
     blocked_until = CASE WHEN failures - 1 < failure_limit THEN NULL ELSE blocked_until END
   FROM unnest(:buckets::text[], :failureLimits::int[]) AS network (bucket, failure_limit)
     JOIN held USING (bucket)
   WHERE t.bucket = held.bucket`,
})

export const selectBuckets = statement({
  name: 'select_login_buckets',
  takes: { buckets: list(text), since: instant },
  gives: { failures: int, blockedUntil: orNull(instant) },
  text: `SELECT failures, blocked_until AS "blockedUntil" FROM login_throttle
   WHERE bucket = ANY (:buckets::text[]) AND greatest(started_at, blocked_until) > :since`,
})

export const deleteBuckets = statement({
  name: 'delete_login_buckets',
  takes: { buckets: list(text) },
  gives: { bucket: text },
  text: 'DELETE FROM login_throttle WHERE bucket = ANY (:buckets::text[]) RETURNING bucket',
})

export const deleteOldBuckets = statement({
  name: 'delete_old_login_buckets',
  takes: { until: instant },
  gives: { bucket: text },
  text: 'DELETE FROM login_throttle WHERE greatest(started_at, blocked_until) <= :until RETURNING bucket',
})
