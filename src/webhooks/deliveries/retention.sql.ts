import { statement } from '../../database/database.ts'
import { unfinishedOf } from '../engine/waiting.sql.ts'
import { dayOfSeq, filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

export const selectOldDays = statement('select_old_days', 'SELECT day FROM days WHERE day < $1 ORDER BY day')

/** The last number of a feed up to the end of day $2. */
const lastOf = (feed: string) => `coalesce((
     SELECT min(d.first) - 1 FROM feed_days d WHERE d.part = $1 AND d.feed = ${feed} AND d.day > $2), feed_head($1, ${feed}))`

/** Webhooks of a part ($1) that have something unfinished of a day ($2) or of one before, with the number up to which that is. */
export const selectBehind = statement(
  'select_webhooks_behind',
  `SELECT * FROM (
     SELECT k.webhook_id AS "webhookId", greatest(CASE WHEN k.position < f.last THEN f.last END,
       (SELECT max(x.seq) FROM exceptions x WHERE x.part = $1 AND x.webhook_id = k.webhook_id AND x.day <= $2),
       (SELECT max(g.seq) FROM agains g WHERE g.part = $1 AND g.webhook_id = k.webhook_id AND g.day <= $2)) AS upto
     FROM cursors k LEFT JOIN (
       SELECT d.feed, ${lastOf('d.feed')} AS last FROM feed_days d WHERE d.part = $1 AND d.day > 0 AND d.day <= $2 GROUP BY d.feed) f ON f.feed = k.feed
     WHERE k.part = $1) behind
   WHERE upto IS NOT NULL ORDER BY "webhookId"`,
)

/** What a webhook ($2) has unfinished up to a number ($4); counted up to $3. */
export const countBehind = statement(
  'count_behind',
  `SELECT least((SELECT count(*) FROM (
       SELECT FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
       WHERE l.part = $1 AND l.feed = k.feed AND l.seq > k.position AND l.seq <= $4 AND l.day >= coalesce(${dayOfSeq('k.position + 1', 'k.feed')}, 0)
         AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')} ORDER BY l.seq LIMIT $3) above)
     + (SELECT count(*) FROM exceptions x CROSS JOIN LATERAL (${unfinishedOf('l.seq')}) below
        WHERE x.part = $1 AND x.webhook_id = k.webhook_id AND below.seq <= least($4, k.position))
     + (SELECT count(*) FROM agains g WHERE g.part = $1 AND g.webhook_id = k.webhook_id AND g.seq <= $4), $3)::int AS deliveries
   FROM cursors k WHERE k.part = $1 AND k.webhook_id = $2`,
)

/** The sequencer waits meanwhile, and gives no number of a day that leaves. */
export const lockPart = statement('lock_part', 'SELECT FROM parts WHERE part = $1 FOR NO KEY UPDATE')

/** Three steps, for whoever holds the part: a feed whose newest day leaves goes on where it was. */
export const forgetFormer = statement(
  'forget_former_days',
  `DELETE FROM feed_days z WHERE z.part = $1 AND z.day = 0 AND EXISTS (SELECT FROM feed_days d WHERE d.part = $1 AND d.feed = z.feed AND d.day = $2)`,
)
export const keepHeads = statement(
  'keep_heads',
  `UPDATE feed_days d SET first = feed_head($1, d.feed) + 1, day = 0
   WHERE d.part = $1 AND d.day = $2 AND NOT EXISTS (SELECT FROM feed_days n WHERE n.part = $1 AND n.feed = d.feed AND n.day > $2)`,
)
export const forgetDay = statement('forget_day', 'DELETE FROM feed_days WHERE part = $1 AND day = $2')

export const selectFeedOfDay = statement(
  'select_feed_of_day',
  'SELECT feed FROM feed_days WHERE part = $1 AND day = $2 LIMIT 1',
)

export const selectKept = statement(
  'select_partitions',
  `SELECT substring(child.relname FROM '_d(\\d+)$')::int AS day FROM pg_inherits i
   JOIN pg_class child ON child.oid = i.inhrelid WHERE i.inhparent = $1::regclass ORDER BY 1`,
)

export const dropDay = statement('drop_day', 'SELECT drop_day($1, $2) AS dropped')

export const deleteDay = statement('delete_day', 'DELETE FROM days WHERE day = $1')

/** What was passed up to numbers that have left, and replays that ended then. The last that was passed stays. */
export const deletePasses = statement(
  'delete_old_passes',
  `DELETE FROM passes s WHERE s.part = $1 AND s.passed_at < $2 AND s.upto < (SELECT max(l.upto) FROM passes l WHERE l.part = $1 AND l.webhook_id = s.webhook_id)`,
)
export const deleteReplays = statement(
  'delete_old_replays',
  'DELETE FROM replay_cursors WHERE part = $1 AND finished_at < $2',
)

export const deleteKeys = statement(
  'delete_old_idempotency_keys',
  `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2)) RETURNING key`,
)
