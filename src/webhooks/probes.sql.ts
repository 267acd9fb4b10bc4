import { statement } from '../database/database.ts'
import { nextProbe } from './lanes.sql.ts'
import { placeOf } from './queue-key.ts'

const laterOf = (urgency: 0 | 1) => `(SELECT q.id, q.attempts FROM queued_deliveries q
      WHERE q.webhook_id = $1 AND q.urgency = ${urgency} AND q.due_at > $2 AND q.due_at < 'infinity' ORDER BY q.due_at, ${placeOf('q')} LIMIT 1)`

/**
 * One attempt at once ($1 webhook, $2 now): of what the lane would ask next, or, where nothing is due, of what is due first. The lane is looked at now,
 * whatever its breaker or its receiver said; a held one looks again. None where nothing waits. Under the part's lock.
 */
export const probeNow = statement(
  'probe_now',
  `WITH lane AS MATERIALIZED (SELECT webhook_id, due_from FROM lanes WHERE webhook_id = $1),
   due AS MATERIALIZED (SELECT next.id, next.attempts FROM lane CROSS JOIN LATERAL (${nextProbe('$2::timestamptz')}) next),
   later AS MATERIALIZED (
     SELECT id, attempts FROM (${laterOf(0)} UNION ALL ${laterOf(1)} LIMIT 1) first WHERE NOT EXISTS (SELECT FROM due)),
   pulled AS (
     UPDATE queued_deliveries SET due_at = greatest($2, (SELECT due_from FROM lane)) WHERE id = (SELECT id FROM later) RETURNING id),
   chosen AS MATERIALIZED (SELECT * FROM due UNION ALL SELECT * FROM later),
   told AS (
     UPDATE lanes SET attention_at = CASE WHEN claim_id IS NOT NULL THEN attention_at ELSE $2 END, has_news = claim_id IS NOT NULL, held_until = '-infinity'
     WHERE webhook_id = $1 AND EXISTS (SELECT FROM chosen) RETURNING webhook_id),
   woken AS (SELECT pg_notify('countersign_work', 'delivery  ' || webhook_id) FROM told)
   SELECT chosen.id AS "deliveryId", chosen.attempts AS "attemptsBefore" FROM chosen, woken`,
)

/** The first attempt of a delivery of this webhook after so many. The delivery is found by its number, not among all of the webhook. */
export const selectAttemptAfter = statement(
  'select_attempt_after',
  `SELECT a.delivery_id AS "deliveryId", a.number, a.at, a.duration_ms AS "durationMs", a.outcome, a.status, a.why, a.detail, left(a.response, 1000) AS response
   FROM (SELECT id, webhook_id FROM deliveries WHERE id = $2 OFFSET 0) d CROSS JOIN LATERAL (
     SELECT * FROM attempts WHERE delivery_id = d.id AND day >= $4 AND number > $3 ORDER BY number LIMIT 1) a
   WHERE d.webhook_id = $1`,
)
