import { statement } from '../database/database.ts'

const first = (
  urgency: 0 | 1,
) => `(SELECT due_at FROM queued_deliveries WHERE webhook_id = w.id AND urgency = ${urgency} AND due_at >= l.due_from
        AND due_at < 'infinity' ORDER BY due_at LIMIT 1)`

/**
 * Since when the first of each webhook whose deliveries may be sent waits for somebody. What is sent again waits behind what happens, and a long replay
 * takes its time, as all does whose receiver wants so many a second: it is overdue only while nobody is at its lane who should be. A lane that is held says until when; one that is not, since when it wants somebody.
 */
const firstDue = `FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment)
      JOIN lanes l ON l.webhook_id = w.id
      CROSS JOIN LATERAL (
        SELECT CASE WHEN w.rate_limit IS NULL THEN due_at ELSE greatest(due_at, l.attention_at) END AS due_at FROM ${first(0)} now
        UNION ALL SELECT greatest(due_at, l.attention_at) FROM ${first(1)} again) d
      WHERE w.state = 'active' AND l.held_until <= $1`

export const selectDepths = statement(
  'select_depths',
  `SELECT (SELECT count(*) FROM inbox_reads newest JOIN inbox i ON i.part = newest.part
        AND (i.xid >= pg_snapshot_xmax(newest.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(newest.read))))
        AND (newest.at_xid IS NULL OR (i.xid, i.id) > (newest.at_xid, newest.at_id))
      WHERE newest.number = (SELECT max(number) FROM inbox_reads other WHERE other.part = newest.part)) AS inbox,
     waiting.count AS waiting, waiting.blocked,
     (SELECT count(*) FROM settled_deliveries WHERE state = 'exhausted') AS exhausted,
     greatest(0, coalesce(extract(epoch FROM $1 - (SELECT min(d.due_at) ${firstDue})), 0))::float8 AS "overdueSeconds",
     (SELECT count(*) FROM lanes WHERE claim_id IS NOT NULL) AS "lanesHeld",
     (SELECT count(*) FROM lanes WHERE evidence >= $2) AS "breakersOpen",
     (SELECT count(*) FROM webhooks WHERE state = 'disabled') AS "webhooksDisabled"
   FROM (SELECT count(*) FILTER (WHERE after_id IS NULL) AS count, count(*) FILTER (WHERE after_id IS NOT NULL) AS blocked
       FROM queued_deliveries) waiting`,
)

export const selectOldest = statement(
  'select_oldest',
  `SELECT
     (SELECT min(e.created_at) FROM inbox_reads newest CROSS JOIN LATERAL (
        SELECT i.event_id FROM inbox i WHERE i.part = newest.part
          AND (i.xid >= pg_snapshot_xmax(newest.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(newest.read))))
          AND (newest.at_xid IS NULL OR (i.xid, i.id) > (newest.at_xid, newest.at_id))
        ORDER BY i.part, i.xid, i.id LIMIT 1) first JOIN events e ON e.id = first.event_id
      WHERE newest.number = (SELECT max(number) FROM inbox_reads other WHERE other.part = newest.part)) AS "publishedAt",
     (SELECT min(d.due_at) ${firstDue} AND l.evidence < $2) AS "dueAt"`,
)
