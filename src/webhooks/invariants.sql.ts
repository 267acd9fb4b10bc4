/**
 * What must hold at every moment, whoever crashed, and whatever happened beside what. Each statement looks with one snapshot, so that
 * nothing that is half done is taken for broken. None looks at everything: of each lane the oldest that are unfinished, where what is
 * stuck gathers; of each branch the newest of its log.
 */
import { statement } from '../database/database.ts'
import { before } from './lanes.sql.ts'

/** Of living webhooks; what a deleted one leaves behind is cleared away in bites, and chains are cut on the way. */
const oldest = (limit: string) => `lanes l JOIN webhooks w ON w.id = l.webhook_id AND w.state <> 'deleted'
     CROSS JOIN LATERAL (
       SELECT * FROM queued_deliveries u WHERE u.webhook_id = l.webhook_id ORDER BY u.webhook_id, u.id LIMIT ${limit}) q`

const isServed = `EXISTS (SELECT FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id
       WHERE w.id = l.webhook_id AND w.state = 'active' AND p.status = 'approved')`

const isHidden = (urgency: 0 | 1) => `EXISTS (
       SELECT FROM queued_deliveries q WHERE q.webhook_id = l.webhook_id AND q.urgency = ${urgency} AND q.due_at < l.due_from)`

const isAsleep = `l.claim_id IS NULL AND l.attention_at IS NULL AND ${isServed}
       AND EXISTS (SELECT FROM queued_deliveries q WHERE q.webhook_id = l.webhook_id)`

const isUnread = `EXISTS (SELECT FROM inbox i JOIN inbox_reads r ON r.part = i.part
       WHERE i.event_id = e.id AND i.webhook_id IS NULL AND r.number = (SELECT max(number) FROM inbox_reads o WHERE o.part = r.part)
         AND (i.xid >= pg_snapshot_xmax(r.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(r.read))))
         AND (r.at_xid IS NULL OR (i.xid, i.id) > (r.at_xid, r.at_id)))`

/** $1: how many of each lane. */
export const findBrokenLanes = statement(
  'find_broken_lanes',
  `WITH unfinished AS MATERIALIZED (SELECT l.part, q.* FROM ${oldest('$1')})
   SELECT CASE WHEN after_id IS NULL THEN 'order' ELSE 'chain' END AS promise, part, 'delivery:' || id AS subject FROM unfinished q
   WHERE after_id IS DISTINCT FROM ${before}
   UNION ALL SELECT 'event', part, 'delivery:' || id FROM unfinished q WHERE NOT EXISTS (SELECT FROM events e WHERE e.id = q.event_id)
   UNION ALL SELECT 'attention', l.part, 'webhook:' || l.webhook_id FROM lanes l WHERE ${isAsleep}
   UNION ALL SELECT 'sight', l.part, 'webhook:' || l.webhook_id FROM lanes l WHERE ${isHidden(0)} OR ${isHidden(1)}
   UNION ALL SELECT 'lease', l.part, 'webhook:' || l.webhook_id FROM lanes l WHERE l.claim_id IS NOT NULL AND l.attention_at < $2
   UNION ALL SELECT 'cleared', w.branch_id % 16, 'webhook:' || w.id FROM webhooks w
     WHERE w.cleared_at IS NOT NULL AND EXISTS (SELECT FROM queued_deliveries q WHERE q.webhook_id = w.id)
   LIMIT 1000`,
)

/**
 * $1: from which day on; $2: how many of each branch and day. An event has one delivery of a webhook, so that the newest of
 * each webhook's queue are enough to count.
 */
export const findBrokenLogs = statement(
  'find_broken_logs',
  `WITH spans AS MATERIALIZED (SELECT * FROM branch_days WHERE day >= $1),
   newest AS MATERIALIZED (
     SELECT d.branch_id, d.environment, d.day, d.first, d.last, l.sequence, l.event_id, l.deliveries
     FROM spans d CROSS JOIN LATERAL (
       SELECT * FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day
       ORDER BY l.sequence DESC LIMIT $2) l),
   queued AS MATERIALIZED (
     SELECT q.event_id, count(*) AS deliveries FROM (SELECT DISTINCT branch_id, environment FROM newest) b
     JOIN webhooks w ON w.branch_id = b.branch_id AND w.environment = b.environment
     CROSS JOIN LATERAL (
       SELECT u.event_id FROM queued_deliveries u WHERE u.webhook_id = w.id AND u.urgency = 0
       ORDER BY u.webhook_id DESC, u.id DESC LIMIT 2 * $2) q
     GROUP BY q.event_id)
   SELECT 'count' AS promise, n.branch_id % 16 AS part, n.environment || ':' || n.branch_id || ' ' || n.sequence AS subject
   FROM newest n LEFT JOIN queued USING (event_id)
   WHERE n.deliveries <> coalesce(queued.deliveries, 0) + (
     SELECT count(*) FROM settled_deliveries s WHERE s.event_id = n.event_id AND s.repeats IS NULL
       AND s.id >= n.day::bigint * 10000000000 AND s.id < (n.day::bigint + 1) * 10000000000)
   UNION ALL SELECT 'gap', branch_id % 16, environment || ':' || branch_id FROM newest GROUP BY branch_id, environment, day, first, last
     HAVING count(*) <> max(sequence) - min(sequence) + 1 OR max(sequence) <> last OR (count(*) < $2 AND min(sequence) <> first)
   UNION ALL SELECT 'gap', d.branch_id % 16, d.environment || ':' || d.branch_id FROM spans d CROSS JOIN LATERAL (
       SELECT last FROM branch_days b WHERE b.branch_id = d.branch_id AND b.environment = d.environment AND b.day < d.day ORDER BY b.day DESC LIMIT 1) b
     WHERE b.last IS DISTINCT FROM d.first - 1
   LIMIT 1000`,
)

/** Every event of the days from $1 on: not for a large house. */
export const findLostEvents = statement(
  'find_lost_events',
  `SELECT 'log' AS promise, e.branch_id % 16 AS part, 'event:' || e.id AS subject FROM events e
   WHERE e.id >= $1::bigint * 10000000000 AND NOT EXISTS (SELECT FROM branch_log l WHERE l.event_id = e.id) AND NOT ${isUnread}`,
)

/** The four that mend, under the lock of part $1, in this order; each answers a row for what it has changed. */
export const settleEventless = statement(
  'mend_event',
  `WITH gone AS (
     DELETE FROM queued_deliveries WHERE id = ANY (ARRAY(
       SELECT q.id FROM ${oldest('$3')} WHERE l.part = $1 AND NOT EXISTS (SELECT FROM events e WHERE e.id = q.event_id))) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats)
   SELECT id, webhook_id, event_id, entity, 'expired', attempts, created_at, $2, repeats FROM gone RETURNING webhook_id`,
)

export const chainAnew = statement(
  'mend_chain',
  `UPDATE queued_deliveries q SET after_id = broken.before_id, due_at = CASE WHEN broken.before_id IS NULL THEN $2::timestamptz ELSE 'infinity' END
   FROM (SELECT q.id, ${before} AS before_id FROM ${oldest('$3')} WHERE l.part = $1) broken
   WHERE q.id = broken.id AND q.after_id IS DISTINCT FROM broken.before_id RETURNING q.webhook_id`,
)

export const showHidden = statement(
  'mend_sight',
  `UPDATE queued_deliveries q SET due_at = $2 FROM lanes l
   WHERE l.part = $1 AND q.webhook_id = l.webhook_id AND q.urgency IN (0, 1) AND q.due_at < l.due_from RETURNING q.webhook_id`,
)

export const wakeAsleep = statement(
  'mend_attention',
  `UPDATE lanes l SET attention_at = $2 WHERE l.part = $1 AND ${isAsleep} RETURNING webhook_id`,
)
