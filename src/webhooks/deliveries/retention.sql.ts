import { instant, int, list, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { unfinishedOf } from '../engine/waiting.sql.ts'
import { dayOfSeq, filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

export const selectOldDays = statement({
  name: 'select_old_days',
  takes: { day: int },
  gives: { day: int },
  text: 'SELECT day FROM days WHERE day < :day ORDER BY day',
})

/** The last number of a feed up to the end of `day`. */
const lastOf = (feed: string) => `coalesce((
     SELECT min(d.first) - 1 FROM feed_days d WHERE d.part = :part AND d.feed = ${feed} AND d.day > :day),
       feed_head(:part, ${feed}))`

/**
 * Webhooks of a part that have something unfinished of a day or of one before, with the number up to which
 * that is.
 */
export const selectBehind = statement({
  name: 'select_webhooks_behind',
  takes: { part: int, day: int },
  gives: { webhookId: int, upto: int },
  text: `SELECT * FROM (
     SELECT k.webhook_id AS "webhookId", greatest(CASE WHEN k.position < f.last THEN f.last END,
       (SELECT max(x.seq) FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id
         AND x.day <= :day),
       (SELECT max(g.seq) FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id
         AND g.day <= :day)) AS
         upto
     FROM cursors k LEFT JOIN (
       SELECT d.feed, ${lastOf('d.feed')} AS last FROM feed_days d WHERE d.part = :part AND d.day > 0
         AND d.day <= :day GROUP BY d.feed) f ON f.feed = k.feed
     WHERE k.part = :part) behind
   WHERE upto IS NOT NULL ORDER BY "webhookId"`,
})

/** What a webhook has unfinished up to a number; counted up to `most`. */
export const countBehind = statement({
  name: 'count_behind',
  takes: { part: int, webhookId: int, most: int, upto: int },
  gives: { deliveries: int },
  text: `SELECT least((SELECT count(*) FROM (
       SELECT FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
       WHERE l.part = :part AND l.feed = k.feed AND l.seq > k.position AND l.seq <= :upto
         AND l.day >= coalesce(${dayOfSeq('k.position + 1', 'k.feed')}, 0)
         AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')} ORDER BY l.seq
           LIMIT :most) above)
     + (SELECT count(*) FROM exceptions x CROSS JOIN LATERAL (${unfinishedOf('l.seq')}) below
        WHERE x.part = :part AND x.webhook_id = k.webhook_id AND below.seq <= least(:upto, k.position))
     + (SELECT count(*) FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id
       AND g.seq <= :upto),
       :most)::int AS deliveries
   FROM cursors k WHERE k.part = :part AND k.webhook_id = :webhookId`,
})

/** The sequencer waits meanwhile, and gives no number of a day that leaves. */
export const lockPart = statement({
  name: 'lock_part',
  takes: { part: int },
  text: 'SELECT FROM parts WHERE part = :part FOR NO KEY UPDATE',
})

/** In a transaction that holds the part's lock: a feed whose newest day is dropped keeps its numbering. */
export const forgetFormer = statement({
  name: 'forget_former_days',
  takes: { part: int, day: int },
  text: `DELETE FROM feed_days z WHERE z.part = :part AND z.day = 0 AND EXISTS (SELECT FROM feed_days d
    WHERE d.part = :part AND d.feed = z.feed AND d.day = :day)`,
})
export const selectEnding = statement({
  name: 'select_ending_feeds',
  takes: { part: int, day: int },
  gives: { feed: int },
  text: `SELECT d.feed FROM feed_days d WHERE d.part = :part AND d.day = :day AND NOT EXISTS (
     SELECT FROM feed_days n WHERE n.part = :part AND n.feed = d.feed AND n.day > :day)`,
})
export const keepHeads = statement({
  name: 'keep_heads',
  takes: { part: int, day: int, feeds: list(int), heads: list(int) },
  text: `UPDATE feed_days d SET first = h.head + 1, day = 0
   FROM unnest(:feeds::int[], :heads::bigint[]) AS h (feed, head)
   WHERE d.part = :part AND d.day = :day AND d.feed = h.feed`,
})
export const forgetDay = statement({
  name: 'forget_day',
  takes: { part: int, day: int },
  text: 'DELETE FROM feed_days WHERE part = :part AND day = :day',
})

export const selectFeedOfDay = statement({
  name: 'select_feed_of_day',
  takes: { part: int, day: int },
  gives: { feed: int },
  text: 'SELECT feed FROM feed_days WHERE part = :part AND day = :day LIMIT 1',
})

export const selectKept = statement({
  name: 'select_partitions',
  takes: { table: text },
  gives: { day: int },
  text: `SELECT substring(child.relname FROM '_d(\\d+)$')::int AS day FROM pg_inherits i
   JOIN pg_class child ON child.oid = i.inhrelid WHERE i.inhparent = :table::text::regclass ORDER BY 1`,
})

export const dropDay = statement({
  name: 'drop_day',
  takes: { table: text, day: int },
  text: 'SELECT drop_day(:table, :day) AS dropped',
})

export const deleteDay = statement({
  name: 'delete_day',
  takes: { day: int },
  gives: { day: int },
  text: 'DELETE FROM days WHERE day = :day RETURNING day',
})

/**
 * What was passed up to numbers that have left, and replays that ended then. The last that was passed stays.
 */
export const deletePasses = statement({
  name: 'delete_old_passes',
  takes: { part: int, before: instant },
  text: `DELETE FROM passes s WHERE s.part = :part AND s.passed_at < :before
   AND s.upto < (SELECT max(l.upto) FROM passes l WHERE l.part = :part AND l.webhook_id = s.webhook_id)`,
})
export const deleteReplays = statement({
  name: 'delete_old_replays',
  takes: { part: int, before: instant },
  text: 'DELETE FROM replay_cursors WHERE part = :part AND finished_at < :before',
})

export const deleteKeys = statement({
  name: 'delete_old_idempotency_keys',
  takes: { before: instant, most: int },
  gives: { key: text },
  text: `DELETE FROM idempotency_keys
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency_keys WHERE created_at < :before ORDER BY created_at
    LIMIT :most)) RETURNING key`,
})
