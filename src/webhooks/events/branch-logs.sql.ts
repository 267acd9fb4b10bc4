/**
 * What statements about a feed have in common. Everywhere $1 is the part and $2 the feed, unless it is said otherwise.
 *
 * Single entries are read by `entry_of`, single outcomes behind `OFFSET 0`: joined, a day that the statistics believe empty would be read whole for each of them.
 */
import { statement } from '../../database/database.ts'

/** On which day a number was given; null for one that has left. */
export const dayOfSeq = (seq: string, feed = '$2') =>
  `(SELECT max(of_day.day) FROM feed_days of_day WHERE of_day.part = $1 AND of_day.feed = ${feed} AND of_day.first <= ${seq})`

/** The filter of a webhook that stood when an entry was numbered, as a part of FROM. No row: nothing was the webhook's yet. */
export const filterAt = (webhookId: string, seq: string) => `LATERAL (
     SELECT kinds, actions FROM filters WHERE part = $1 AND webhook_id = ${webhookId} AND from_seq <= ${seq} ORDER BY from_seq DESC LIMIT 1)`

/** Whether entry `l` is for a webhook by filter `f`: one for a webhook alone is for no other, and a test is for all. */
export const isFor = (l: string, webhookId: string, f: string) =>
  `CASE WHEN ${l}.webhook_id IS NULL THEN ${l}.simulated OR wants_event(${f}.kinds, ${f}.actions, ${l}.kind, ${l}.action) ELSE ${l}.webhook_id = ${webhookId} END`

/** Whether entry `l` has ended for a webhook, but for what was passed. */
export const hasEnded = (l: string, webhookId: string) =>
  `EXISTS (SELECT FROM outcomes ended WHERE ended.part = $1 AND ended.webhook_id = ${webhookId} AND ended.seq = ${l}.seq AND ended.round = 0
       AND ended.day = ${l}.day AND ended.state <> 'retrying' OFFSET 0)`

/** The first number that was given since the moment $3, found by halving: numbers have no gap, and grow with time. */
export const selectFirstSince = statement(
  'select_first_entry_since',
  `WITH RECURSIVE step AS (
     SELECT coalesce((SELECT min(first) FROM feed_days WHERE part = $1 AND feed = $2), 1) AS low, feed_head($1, $2) + 1 AS high
     UNION ALL
     SELECT CASE WHEN probe.created_at < $3::timestamptz THEN mid + 1 ELSE low END, CASE WHEN probe.created_at < $3 THEN high ELSE mid END
     FROM (SELECT low, high, (low + high) / 2 AS mid FROM step WHERE low < high) half CROSS JOIN LATERAL entry_of($1, $2, mid, ${dayOfSeq('mid')}) probe)
   SELECT max(low) AS seq FROM step`,
)

/** Where the numbers of a feed begin and end, as far as they are kept. */
export const selectBounds = statement(
  'select_feed_bounds',
  `SELECT coalesce((SELECT min(first) FROM feed_days WHERE part = $1 AND feed = $2), 1) AS first, feed_head($1, $2) AS last`,
)
