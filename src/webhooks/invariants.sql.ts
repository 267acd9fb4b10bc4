/**
 * What must hold at every moment, whoever crashed, and whatever happened beside what. Each statement looks with one snapshot, so that
 * nothing that is half done is taken for broken. Each looks at one part, and at so many rows at most: of each lane the oldest that are
 * unfinished, where what is stuck gathers; of each branch the newest of its log.
 */
import { statement } from '../database/database.ts'
import { before } from './lanes.sql.ts'
import { wants } from './webhooks.sql.ts'

/**
 * A question for each row, by one index and no other: rows are compared with rows in the order of that index, and the first is asked for. Whatever
 * statistics say, nothing becomes a join with everything there is (decision 0009).
 */
const isThere = (from: string) => `(SELECT true FROM ${from} LIMIT 1) IS NOT NULL`
const isAbsent = (from: string) => `(SELECT true FROM ${from} LIMIT 1) IS NULL`

/** Unfinished ones of a webhook, as `u`, by their numbers. */
const queuedOf = (
  webhookId: string,
) => `queued_deliveries u WHERE (u.webhook_id + 0, u.id + 0) >= (${webhookId}, 0) AND (u.webhook_id + 0, u.id + 0) < (${webhookId} + 1, 0)
       ORDER BY u.webhook_id + 0, u.id + 0`

/** Few of each where there are many of them, but always some. */
const share = (most: string, what: string) => `(SELECT greatest(20, ${most} / greatest(1, count(*))) FROM ${what})`

const lanesWithWork = (part: string) =>
  `lanes busy WHERE busy.part = ${part} AND ${isThere(queuedOf('busy.webhook_id'))}`

/** Of living webhooks; what a deleted one leaves behind is cleared away in bites, and chains are cut on the way. */
const oldest = (part: string, most: string) => `lanes l JOIN webhooks w ON w.id = l.webhook_id AND w.state <> 'deleted'
     CROSS JOIN LATERAL (
       SELECT * FROM ${queuedOf('l.webhook_id')}
       LIMIT ${share(most, lanesWithWork(part))}) q
     WHERE l.part = ${part}`

const isServed = isThere(`webhooks w JOIN partners p ON p.branch_id = w.branch_id
       WHERE w.id = l.webhook_id AND w.state = 'active' AND may_act(p.status, w.environment)`)

const isHidden = (urgency: 0 | 1) =>
  isThere(`queued_deliveries q WHERE (q.webhook_id, q.urgency, q.due_at) >= (l.webhook_id, ${urgency}, '-infinity')
         AND (q.webhook_id, q.urgency, q.due_at) < (l.webhook_id, ${urgency}, l.due_from) ORDER BY q.webhook_id, q.urgency, q.due_at, q.id + 0`)

const isAsleep = `l.claim_id IS NULL AND l.attention_at IS NULL AND ${isServed}
       AND ${isThere(queuedOf('l.webhook_id'))}`

/** Of whoever holds it nothing was heard since $3. */
const isForsaken = `CASE WHEN l.held_by IS NULL THEN l.attention_at < $3::timestamptz ELSE ${isAbsent('workers k WHERE k.number = l.held_by AND k.seen_at >= $3::timestamptz')} END`

const isLeft = `w.cleared_at IS NOT NULL AND ${isThere(queuedOf('w.id'))}`

const hasNoEvent = isAbsent('events e WHERE e.id = q.event_id')

/** $1: the part; $2: how many rows at most; $3: leases that ended before have been over for long. */
export const findBrokenLanes = statement(
  'find_broken_lanes',
  `WITH unfinished AS MATERIALIZED (SELECT q.* FROM ${oldest('$1::int', '$2::int')})
   SELECT CASE WHEN after_id IS NULL THEN 'order' ELSE 'chain' END AS promise, $1::int AS part, 'delivery:' || id AS subject FROM unfinished q
   WHERE after_id IS DISTINCT FROM ${before}
   UNION ALL SELECT 'event', $1::int, 'delivery:' || id FROM unfinished q WHERE ${hasNoEvent}
   UNION ALL SELECT 'attention', $1::int, 'webhook:' || l.webhook_id FROM lanes l WHERE l.part = $1::int AND ${isAsleep}
   UNION ALL SELECT 'sight', $1::int, 'webhook:' || l.webhook_id FROM lanes l WHERE l.part = $1::int AND (${isHidden(0)} OR ${isHidden(1)})
   UNION ALL SELECT 'lease', $1::int, 'webhook:' || l.webhook_id FROM lanes l WHERE l.part = $1::int AND l.claim_id IS NOT NULL AND ${isForsaken}
   UNION ALL SELECT 'cleared', $1::int, 'webhook:' || w.id FROM webhooks w JOIN lanes l ON l.webhook_id = w.id WHERE l.part = $1::int AND ${isLeft}
   LIMIT 1000`,
)

/** Whoever changed a webhook may have committed after an event that was published later, but not by more than this. */
const slack = "interval '1 minute'"

/**
 * An event's deliveries are made on the day on which it gets its number. What is settled is asked from the first number of that day on: a span
 * with both ends would look as good as the event's own index to whoever has no statistics.
 */
const firstOf = (day: string) => `${day}::bigint * 10000000000`
const pastOf = (day: string) => `(${day}::bigint + 1) * 10000000000`

/**
 * $1: the part; $2: how many rows at most; $3: from which day on. An event has one delivery of a webhook, so that of each webhook's
 * queue the newest of a day are enough to count.
 */
export const findBrokenLogs = statement(
  'find_broken_logs',
  `WITH spans AS MATERIALIZED (SELECT * FROM branch_days WHERE day >= $3 AND branch_id % 16 = $1::int),
   room AS MATERIALIZED (SELECT ${share('$2::int', 'spans')} AS most),
   newest AS MATERIALIZED (
     SELECT d.branch_id, d.environment, d.day, d.first, d.last, l.sequence, l.event_id, l.deliveries
     FROM spans d CROSS JOIN LATERAL (
       SELECT * FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day
       ORDER BY l.sequence DESC LIMIT (SELECT most FROM room)) l),
   queued AS MATERIALIZED (
     SELECT q.event_id, count(*) AS deliveries FROM spans d
     JOIN webhooks w ON w.branch_id = d.branch_id AND w.environment = d.environment
     CROSS JOIN LATERAL (
       SELECT u.event_id FROM queued_deliveries u WHERE (u.webhook_id + 0, u.id + 0) >= (w.id, ${firstOf('d.day')})
         AND (u.webhook_id + 0, u.id + 0) < (w.id, ${pastOf('d.day')}) AND u.repeats IS NULL
       ORDER BY u.webhook_id + 0 DESC, u.id + 0 DESC LIMIT (SELECT most FROM room)) q
     GROUP BY q.event_id)
   SELECT 'count' AS promise, $1::int AS part, n.environment || ':' || n.branch_id || ' ' || n.sequence AS subject
   FROM newest n LEFT JOIN queued USING (event_id)
   WHERE n.deliveries <> coalesce(queued.deliveries, 0) + (
     SELECT count(*) FROM settled_deliveries s WHERE s.event_id = n.event_id AND s.repeats IS NULL AND s.id >= ${firstOf('n.day')})
   UNION ALL SELECT 'wanted', $1::int, n.environment || ':' || n.branch_id || ' ' || n.sequence
   FROM newest n WHERE n.deliveries < (
     SELECT count(*) FROM events e JOIN webhooks w ON w.branch_id = n.branch_id AND w.environment = n.environment AND w.state <> 'deleted'
       AND w.updated_at < e.created_at - ${slack} AND CASE WHEN e.webhook_id IS NULL THEN e.simulated OR (${wants('w', 'e')}) ELSE w.id = e.webhook_id END WHERE e.id = n.event_id)
   UNION ALL SELECT 'gap', $1::int, environment || ':' || branch_id FROM newest GROUP BY branch_id, environment, day, first, last
     HAVING count(*) <> max(sequence) - min(sequence) + 1 OR max(sequence) <> last
       OR (count(*) < (SELECT most FROM room) AND min(sequence) <> first)
   UNION ALL SELECT 'gap', $1::int, d.environment || ':' || d.branch_id FROM spans d CROSS JOIN LATERAL (
       SELECT last FROM branch_days b WHERE b.branch_id = d.branch_id AND b.environment = d.environment AND b.day < d.day ORDER BY b.day DESC LIMIT 1) b
     WHERE b.last IS DISTINCT FROM d.first - 1
   LIMIT 1000`,
)

const isUnread = `EXISTS (SELECT FROM inbox i JOIN inbox_reads r ON r.part = i.part
       WHERE i.event_id = e.id AND i.webhook_id IS NULL AND r.number = (SELECT max(number) FROM inbox_reads o WHERE o.part = r.part)
         AND (i.xid >= pg_snapshot_xmax(r.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(r.read))))
         AND (r.at_xid IS NULL OR (i.xid, i.id) > (r.at_xid, r.at_id)))`

/** Every event of the days from $2 on: not for a large house. $1: the part. */
export const findLostEvents = statement(
  'find_lost_events',
  `SELECT 'log' AS promise, $1::int AS part, 'event:' || e.id AS subject FROM events e
   WHERE e.id >= $2::bigint * 10000000000 AND e.branch_id % 16 = $1::int
     AND NOT EXISTS (SELECT FROM branch_log l WHERE l.event_id = e.id) AND NOT ${isUnread}`,
)

/**
 * Those that mend, under the lock of part $1, in this order: of $3 rows at most, at $2, which is later than whatever a lane has read. Each
 * answers the lanes that have to be told.
 */
export const settleEventless = statement(
  'mend_event',
  `WITH gone AS (
     DELETE FROM queued_deliveries WHERE id = ANY (ARRAY(
       SELECT q.id FROM ${oldest('$1::int', '$3::int')} AND ${hasNoEvent})) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats)
   SELECT id, webhook_id, event_id, entity, 'expired', attempts, created_at, $2, repeats FROM gone RETURNING webhook_id AS "webhookId"`,
)

export const chainAnew = statement(
  'mend_chain',
  `UPDATE queued_deliveries q SET after_id = broken.before_id,
     due_at = CASE WHEN broken.before_id IS NULL THEN greatest($2::timestamptz, broken.due_from) ELSE 'infinity' END
   FROM (SELECT q.id, l.due_from, ${before} AS before_id FROM ${oldest('$1::int', '$3::int')}) broken
   WHERE q.id = broken.id AND q.after_id IS DISTINCT FROM broken.before_id RETURNING q.webhook_id AS "webhookId"`,
)

export const showHidden = statement(
  'mend_sight',
  `UPDATE queued_deliveries q SET due_at = greatest($2::timestamptz, l.due_from) FROM lanes l
   WHERE q.webhook_id = l.webhook_id AND q.id = ANY (ARRAY(
     SELECT u.id FROM lanes l JOIN queued_deliveries u ON u.webhook_id = l.webhook_id AND u.urgency IN (0, 1) AND u.due_at < l.due_from
     WHERE l.part = $1::int LIMIT $3)) RETURNING q.webhook_id AS "webhookId"`,
)

/** What is left goes the way of everything that a deleted webhook leaves behind. */
export const clearAgain = statement(
  'mend_cleared',
  `UPDATE webhooks w SET cleared_at = NULL FROM lanes l WHERE l.webhook_id = w.id AND w.id = ANY (ARRAY(
     SELECT w.id FROM webhooks w JOIN lanes l ON l.webhook_id = w.id WHERE l.part = $1::int AND ${isLeft} LIMIT $3))
   RETURNING l.webhook_id AS "webhookId", $2::timestamptz AS at`,
)

export const wakeAsleep = statement(
  'mend_attention',
  `UPDATE lanes SET attention_at = $2 WHERE webhook_id = ANY (ARRAY(
     SELECT l.webhook_id FROM lanes l WHERE l.part = $1::int AND ${isAsleep} ORDER BY l.webhook_id LIMIT $3 FOR UPDATE)) RETURNING webhook_id AS "webhookId"`,
)
