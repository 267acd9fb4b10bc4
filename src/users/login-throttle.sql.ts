import { statement } from '../database/database.ts'

/**
 * Counts an attempt before the password is looked at, so that a hundred parallel guesses are a hundred attempts.
 * A bucket that is waiting counts nothing and lets nothing through; while an address or a network ($8) waits, nothing else is counted either: whoever is
 * refused there keeps neither a wider network waiting nor whomever they name. $5: the window, $6: the first wait, $7: the longest.
 */
export const countAttempt = statement(
  'count_login_attempt',
  `WITH waiting AS (SELECT bucket FROM login_throttle WHERE bucket = ANY ($8::text[]) AND blocked_until > $3)
   INSERT INTO login_throttle AS t (bucket, failures, started_at, attempt)
   SELECT bucket, 1, $3, $4 FROM unnest($1::text[], $2::int[]) AS asked (bucket, failure_limit)
   WHERE NOT EXISTS (SELECT FROM waiting) OR bucket IN (SELECT bucket FROM waiting) ORDER BY bucket
   ON CONFLICT (bucket) DO UPDATE SET
     attempt = CASE WHEN t.blocked_until > $3 THEN t.attempt ELSE $4 END,
     started_at = CASE WHEN t.blocked_until > $3 OR greatest(t.started_at, t.blocked_until) > $3 - $5::interval THEN t.started_at ELSE $3 END,
     failures = CASE
       WHEN t.blocked_until > $3 THEN t.failures
       WHEN greatest(t.started_at, t.blocked_until) > $3 - $5::interval THEN t.failures + 1
       ELSE 1 END,
     blocked_until = CASE
       WHEN t.blocked_until > $3 THEN t.blocked_until
       WHEN greatest(t.started_at, t.blocked_until) > $3 - $5::interval
         AND t.failures + 1 >= ($2::int[])[array_position($1::text[], t.bucket)]
       THEN $3 + least($7::interval, $6::interval * power(2, least(20, t.failures + 1 - ($2::int[])[array_position($1::text[], t.bucket)])))
       END
   RETURNING bucket, attempt = $4 AS allowed, blocked_until AS "blockedUntil"`,
)

/** The rows are locked in the order in which attempts are counted: addresses stand before users. */
export const forgiveAttempt = statement(
  'forgive_login_attempt',
  `WITH held AS MATERIALIZED (
     SELECT bucket FROM login_throttle WHERE bucket = ANY (array_prepend($1::text, $2::text[])) ORDER BY bucket FOR UPDATE
   ), cleared AS (
     DELETE FROM login_throttle WHERE bucket = (SELECT bucket FROM held WHERE bucket = $1)
   )
   UPDATE login_throttle AS t SET failures = greatest(1, failures - 1),
     blocked_until = CASE WHEN failures - 1 < failure_limit THEN NULL ELSE blocked_until END
   FROM unnest($2::text[], $3::int[]) AS network (bucket, failure_limit) JOIN held USING (bucket)
   WHERE t.bucket = held.bucket`,
)

export const selectBuckets = statement(
  'select_login_buckets',
  `SELECT failures, blocked_until AS "blockedUntil" FROM login_throttle
   WHERE bucket = ANY ($1::text[]) AND greatest(started_at, blocked_until) > $2`,
)

export const deleteBuckets = statement(
  'delete_login_buckets',
  'DELETE FROM login_throttle WHERE bucket = ANY ($1::text[]) RETURNING bucket',
)

export const deleteOldBuckets = statement(
  'delete_old_login_buckets',
  'DELETE FROM login_throttle WHERE greatest(started_at, blocked_until) <= $1 RETURNING bucket',
)
