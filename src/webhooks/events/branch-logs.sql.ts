/**
 * What statements about a feed have in common. All of it takes `part`, and where no feed is named `feed`.
 *
 * Single entries are read by `entryAt`, single outcomes behind `OFFSET 0`: joined, a day that the statistics
 * believe empty would be read whole for each of them.
 */
import { instant, int } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

/** On which day a number was given; null for one that has left. */
export const dayOfSeq = (seq: string, feed = ':feed') =>
  `(SELECT max(of_day.day) FROM feed_days of_day WHERE of_day.part = :part AND of_day.feed = ${feed}
    AND of_day.first <= ${seq})`

/** One entry, as a part of FROM. */
export const entryAt = (feed: string, seq: string, day: string) => `LATERAL (
     SELECT * FROM log WHERE part = :part AND (feed, seq) >= (${feed}, ${seq})
       AND (feed, seq) <= (${feed}, ${seq}) AND day = ${day} ORDER BY feed, seq LIMIT 1)`

/**
 * The filter of a webhook that stood when an entry was numbered, as a part of FROM. No row: nothing was the
 * webhook's yet.
 */
export const filterAt = (webhookId: string, seq: string) => `LATERAL (
     SELECT kinds, actions FROM filters WHERE part = :part AND webhook_id = ${webhookId}
       AND from_seq <= ${seq}
       ORDER BY from_seq DESC LIMIT 1)`

/**
 * Whether entry `l` is for a webhook by filter `f`: one for a webhook alone is for no other, and a test is
 * for all.
 */
export const isFor = (l: string, webhookId: string, f: string) =>
  `CASE WHEN ${l}.webhook_id IS NULL
    THEN ${l}.simulated OR wants_event(${f}.kinds, ${f}.actions, ${l}.kind, ${l}.action)
    ELSE ${l}.webhook_id = ${webhookId} END`

/** Whether entry `l` has ended for a webhook, but for what was passed. */
export const hasEnded = (l: string, webhookId: string) =>
  `EXISTS (SELECT FROM outcomes ended WHERE ended.part = :part AND ended.webhook_id = ${webhookId}
    AND ended.seq = ${l}.seq AND ended.round = 0
       AND ended.day = ${l}.day AND ended.state <> 'retrying' OFFSET 0)`

/**
 * The first number that was given since a moment, found by halving: numbers have no gap, and grow with time.
 */
export const selectFirstSince = statement({
  name: 'select_first_log_entry_since',
  takes: { part: int, feed: int, since: instant },
  gives: { seq: int },
  text: `WITH RECURSIVE step AS (
     SELECT coalesce((SELECT min(first) FROM feed_days WHERE part = :part AND feed = :feed), 1) AS low,
       feed_head(:part, :feed) + 1 AS high
     UNION ALL
     SELECT CASE WHEN probe.created_at < :since::timestamptz THEN mid + 1 ELSE low END,
       CASE WHEN probe.created_at < :since THEN high ELSE mid END
     FROM (SELECT low, high, (low + high) / 2 AS mid FROM step WHERE low < high) half
       CROSS JOIN ${entryAt(':feed', 'mid', dayOfSeq('mid'))} probe)
   SELECT max(low) AS seq FROM step`,
})

/** Where the numbers of a feed begin and end, as far as they are kept. */
export const selectBounds = statement({
  name: 'select_feed_bounds',
  takes: { part: int, feed: int },
  gives: { first: int, last: int },
  text: `SELECT coalesce((SELECT min(first) FROM feed_days WHERE part = :part AND feed = :feed), 1) AS first,
    feed_head(:part, :feed) AS last`,
})
