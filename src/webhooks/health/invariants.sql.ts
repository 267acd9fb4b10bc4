/**
 * What must hold at every moment, whichever process crashed, and whatever ran at the same time. Each
 * statement looks with one snapshot, so that nothing that is half done is taken for broken. Each looks at one
 * part, and at so many rows at most: of each feed the newest of its log, of each webhook what lies just below
 * its position, where what is lost would lie.
 */
import { instant, int, list, oneOf, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { dayOfSeq, entryAt, filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** Few of each where there are many of them, but always some. */
const share = (what: string) =>
  `(SELECT greatest(20, :rowsAtMost::int / greatest(1, count(*))) FROM ${what} WHERE part = :part)`

/** Where there are more than so many rows would be looked at of, some of them in each turn. */
const turns = (what: string) => `(SELECT greatest(1, count(*) * 20 / :rowsAtMost::int) FROM ${what})`

/** Of the webhooks of a part those whose turn it is. */
const checked = `turns AS MATERIALIZED (SELECT ${turns('cursors WHERE part = :part')} AS turns),
   checked AS MATERIALIZED (SELECT k.* FROM cursors k CROSS JOIN turns t
     WHERE k.part = :part AND k.webhook_id % t.turns = :turn::int % t.turns)`

const feedName = (feed: string) =>
  `CASE ${feed} % 2 WHEN 1 THEN 'sandbox' ELSE 'live' END || ':' || ${feed} / 2`
const deliveryName = (row: string) => `'delivery:' || ${row}.webhook_id || '-' || ${row}.seq`

/** Numbers follow each other, and a day begins where the one before ended. */
export const findBrokenLogs = statement({
  name: 'find_broken_logs',
  takes: { part: int, rowsAtMost: int, fromDay: int, turn: int },
  gives: { promise: oneOf('gap', 'twice'), subject: text },
  text: `WITH turns AS MATERIALIZED
    (SELECT ${turns('feed_days WHERE part = :part AND day >= :fromDay AND day > 0')} AS
    turns),
   spans AS MATERIALIZED (
     SELECT d.* FROM feed_days d CROSS JOIN turns t WHERE d.part = :part AND d.day >= :fromDay AND d.day > 0
       AND d.feed / 32 % t.turns = :turn::int % t.turns),
   newest AS MATERIALIZED (
     SELECT d.feed, d.day, d.first, l.seq FROM spans d CROSS JOIN LATERAL (
       SELECT l.seq FROM log l WHERE l.part = :part AND l.feed = d.feed AND l.day = d.day ORDER BY l.seq DESC
         LIMIT ${share('feed_days')}) l)
   SELECT 'gap' AS promise, ${feedName('feed')} AS subject FROM newest GROUP BY feed, day, first
     HAVING count(*) <> max(seq) - min(seq) + 1 OR min(seq) < first OR (count(*) < ${share('feed_days')}
       AND min(seq) <> first)
   UNION ALL SELECT 'gap', ${feedName('d.feed')} FROM spans d CROSS JOIN LATERAL (
       SELECT b.day, b.first FROM feed_days b WHERE b.part = :part AND b.feed = d.feed AND b.day < d.day
         ORDER BY b.day DESC LIMIT 1) b
     WHERE d.first - 1 <> CASE b.day WHEN 0 THEN b.first - 1 ELSE (SELECT max(l.seq) FROM log l
       WHERE l.part = :part AND l.feed = d.feed AND l.day = b.day) END
   UNION ALL SELECT 'twice', 'event:' || l.uid FROM newest n
     CROSS JOIN ${entryAt('n.feed', 'n.seq', 'n.day')} l
     WHERE EXISTS (SELECT FROM log o WHERE o.part = :part AND o.uid = l.uid
       AND (o.feed, o.seq) <> (l.feed, l.seq) OFFSET 0)
   LIMIT 1000`,
})

/**
 * Whether entry `l` below the position of `k` is accounted for: it has ended, was passed, or its entity is an
 * exception that stands at it or before it.
 */
const isAccounted = `${hasEnded('l', 'k.webhook_id')}
       OR l.seq <= coalesce((SELECT max(s.upto) FROM passes s
         WHERE s.part = :part AND s.webhook_id = k.webhook_id), 0)
       OR EXISTS (SELECT FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id
         AND x.entity = l.entity AND x.seq <= l.seq OFFSET 0)`

const below = `checked k CROSS JOIN LATERAL (
       SELECT l.* FROM log l WHERE l.part = :part AND l.feed = k.feed AND l.seq <= k.position
         AND l.day <= coalesce(${dayOfSeq('k.position', 'k.feed')}, 0)
       ORDER BY l.seq DESC LIMIT ${share('cursors')}) l
     CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f`

const wantedAbove = `SELECT l.seq FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
       WHERE l.part = :part AND l.feed = k.feed AND l.seq > k.position
         AND l.day >= coalesce(${dayOfSeq('k.position + 1', 'k.feed')}, 0)
         AND ${isFor('l', 'k.webhook_id', 'f')}
         AND NOT ${hasEnded('l', 'k.webhook_id')} ORDER BY l.seq LIMIT 1`

/** With the numbers of workers that are gone and hold lanes. */
export const findBrokenCursors = statement({
  name: 'find_broken_cursors',
  takes: { part: int, rowsAtMost: int, now: instant, gone: list(int), turn: int },
  gives: { promise: oneOf('lost', 'head', 'sleep', 'holder'), subject: text },
  text: `WITH ${checked}
   SELECT 'lost' AS promise, ${deliveryName('lost')} AS subject FROM (SELECT k.webhook_id, l.seq FROM ${below}
     WHERE k.part = :part AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT (${isAccounted})) lost
   UNION ALL SELECT 'head', 'webhook:' || k.webhook_id FROM checked k
     WHERE k.part = :part AND k.position > feed_head(:part, k.feed)
   UNION ALL SELECT 'sleep', 'webhook:' || k.webhook_id FROM checked k
     WHERE k.part = :part AND k.holder IS NULL
     AND k.is_open AND k.wake_at > :now::timestamptz
     AND (EXISTS (SELECT FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id
       AND x.due_at < k.wake_at AND k.hold_until < k.wake_at OFFSET 0)
       OR EXISTS (SELECT FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id
         AND g.due_at < k.wake_at AND k.hold_until < k.wake_at OFFSET 0)
       OR k.hold_until < k.wake_at AND EXISTS (${wantedAbove})
       OR k.wake_at = 'infinity' AND EXISTS (SELECT FROM replay_cursors r
         WHERE r.part = :part AND r.webhook_id = k.webhook_id AND r.state = 'running'))
   UNION ALL SELECT 'holder', 'webhook:' || k.webhook_id FROM cursors k
     WHERE k.part = :part AND k.holder = ANY (:gone::int[])
   LIMIT 1000`,
})

/**
 * Exceptions and what was asked for again are of entries that there are and that have not ended; an exception
 * is of an entity that its entry is of.
 */
export const findBrokenExceptions = statement({
  name: 'find_broken_exceptions',
  takes: { part: int, rowsAtMost: int, fromDay: int, turn: int },
  gives: { promise: oneOf('exception', 'outcome'), subject: text },
  text: `WITH ${checked}
   SELECT 'exception' AS promise, ${deliveryName('x')} AS subject
     FROM (SELECT * FROM exceptions WHERE part = :part ORDER BY webhook_id, entity LIMIT :rowsAtMost) x
   JOIN cursors k ON k.part = :part AND k.webhook_id = x.webhook_id
   WHERE NOT EXISTS (SELECT FROM ${entryAt('k.feed', 'x.seq', 'x.day')} l WHERE l.entity = x.entity)
     OR EXISTS (SELECT FROM outcomes o WHERE o.part = :part AND o.webhook_id = x.webhook_id AND o.seq = x.seq
       AND o.round = 0 AND o.day = x.day AND o.state <> 'retrying' OFFSET 0)
   UNION ALL SELECT 'exception', ${deliveryName('g')} || '-' || g.round
     FROM (SELECT * FROM agains WHERE part = :part ORDER BY webhook_id, seq, round LIMIT :rowsAtMost) g
   JOIN cursors k ON k.part = :part AND k.webhook_id = g.webhook_id
   WHERE NOT EXISTS (SELECT FROM ${entryAt('k.feed', 'g.seq', 'g.day')} l)
     OR EXISTS (SELECT FROM outcomes o WHERE o.part = :part AND o.webhook_id = g.webhook_id AND o.seq = g.seq
       AND o.round = g.round AND o.day = g.day AND o.state <> 'retrying' OFFSET 0)
   UNION ALL SELECT 'outcome', ${deliveryName('o')} FROM checked k CROSS JOIN LATERAL (
       SELECT o.webhook_id, o.seq FROM outcomes o WHERE o.part = :part AND o.webhook_id = k.webhook_id
         AND o.day >= :fromDay AND o.state <> 'retrying' ORDER BY o.seq DESC LIMIT ${share('cursors')}) o
     WHERE k.part = :part AND (
       SELECT count(*) > count(DISTINCT e.round) FROM outcomes e
         WHERE e.part = :part AND e.webhook_id = o.webhook_id AND e.seq = o.seq AND e.state <> 'retrying')
   LIMIT 1000`,
})

/**
 * Published before a moment and without a number: the sequencer has not seen it, though it goes by every
 * second.
 */
export const findUnnumbered = statement({
  name: 'find_unnumbered',
  takes: { part: int, before: instant },
  gives: { promise: oneOf('log'), subject: text },
  text: `SELECT 'log' AS promise, 'event:' || uid AS subject FROM (SELECT uid, created_at FROM outbox
    WHERE part = :part ORDER BY id LIMIT 1000) waiting WHERE created_at < :before`,
})

/** Keys that publishers gave since a moment, newest first, and at most so many: each names events. */
export const selectPublished = statement({
  name: 'select_published_uids',
  takes: { since: instant, most: int },
  gives: { uid: uuid },
  text: `SELECT unnest(event_uids) AS uid FROM (SELECT event_uids FROM idempotency_keys
    WHERE created_at >= :since ORDER BY created_at DESC LIMIT :most) newest`,
})

/** Of a part those that wait for a number, the first of them. */
export const selectUnnumbered = statement({
  name: 'select_unnumbered_uids',
  takes: { part: int, most: int },
  gives: { uid: uuid },
  text: `SELECT uid FROM outbox WHERE part = :part
    AND id > (SELECT floor FROM outbox_floors WHERE part = :part) ORDER BY id LIMIT :most`,
})

/** Of names those that wait for a number in this part. */
export const selectWaiting = statement({
  name: 'select_waiting_uids',
  takes: { part: int, uids: list(uuid) },
  gives: { uid: uuid },
  text: `SELECT uid FROM outbox WHERE part = :part AND uid = ANY (:uids::uuid[])
    AND id > (SELECT floor FROM outbox_floors WHERE part = :part)`,
})

/** Of names those that have a number in this part. */
export const selectNumbered = statement({
  name: 'select_numbered_uids',
  takes: { part: int, uids: list(uuid) },
  gives: { uid: uuid },
  text: `SELECT uid FROM unnest(:uids::uuid[]) AS named (uid) WHERE EXISTS (SELECT FROM log l
    WHERE l.part = :part AND l.uid = named.uid OFFSET 0)`,
})
