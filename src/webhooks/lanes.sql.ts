import { statement } from '../database/database.ts'

/** Lanes that need somebody: idle with something due, or orphaned by a worker whose lease ran out. */
export const claimLanes = statement(
  'claim_lanes',
  `UPDATE lanes SET claim_id = $1, attention_at = $3, has_news = false
   WHERE webhook_id = ANY (ARRAY(
     SELECT webhook_id FROM lanes WHERE attention_at <= $2 ORDER BY attention_at LIMIT $4 FOR UPDATE SKIP LOCKED))
   RETURNING webhook_id, (SELECT branch_id FROM webhooks w WHERE w.id = webhook_id) AS branch_id, failures, failing_since`,
)

/** Lanes of claims whose answer never came are free for everybody. */
export const undoClaims = statement(
  'undo_claims',
  'UPDATE lanes SET claim_id = NULL, attention_at = $2 WHERE claim_id = ANY ($1::uuid[])',
)

/**
 * The next deliveries of lanes that this worker holds, in the order they are due; never one that it has in hand already, and none of
 * a webhook that is switched off or of a partner that is not approved.
 */
export const selectDue = statement(
  'select_due_deliveries',
  `SELECT due.id, due.webhook_id, w.branch_id, due.due_at, due.attempts, due.tries, e.uid, e.created_at AS published_at, e.traceparent, e.body, w.url
   FROM unnest($1::bigint[], $2::int[]) AS lane (webhook_id, most)
   JOIN webhooks w ON w.id = lane.webhook_id AND w.state = 'active'
   JOIN partners p ON p.branch_id = w.branch_id AND p.status = 'approved'
   CROSS JOIN LATERAL (
     SELECT d.id, d.webhook_id, d.event_id, d.attempts, d.tries, d.due_at FROM deliveries d
     WHERE d.webhook_id = lane.webhook_id AND d.state = 'waiting' AND d.due_at <= $3
       AND d.id NOT IN (SELECT unnest($4::bigint[]))
     ORDER BY d.due_at, d.id LIMIT lane.most) due
   JOIN events e ON e.id = due.event_id
   ORDER BY due.due_at, due.id`,
)

/** Several lanes are always locked in one order, so that workers and the dispatcher cannot wait for each other in a circle. */
export const renewLeases = statement(
  'renew_leases',
  `WITH locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE webhook_id = ANY ($1::bigint[]) AND claim_id = ANY ($2::uuid[]) ORDER BY webhook_id FOR UPDATE)
   UPDATE lanes SET attention_at = $3 WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked)) RETURNING webhook_id`,
)

/**
 * Lets lanes go. A lane is next looked at when its earliest delivery is due (or its breaker probes); at once when news came while
 * it was held, because the statement may not see what the news was about; never while its webhook is switched off or its partner is not approved.
 */
export const releaseLanes = statement(
  'release_lanes',
  `WITH locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE webhook_id = ANY ($1::bigint[]) ORDER BY webhook_id FOR UPDATE)
   UPDATE lanes l SET claim_id = NULL, has_news = false, failures = held.failures, failing_since = held.failing_since,
     attention_at = CASE
       WHEN (w.state <> 'active' OR p.status <> 'approved') AND NOT l.has_news THEN NULL
       ELSE greatest(held.not_before, CASE WHEN l.has_news THEN $6 ELSE (
         SELECT d.due_at FROM deliveries d WHERE d.webhook_id = l.webhook_id AND d.state = 'waiting'
         ORDER BY d.due_at, d.id LIMIT 1) END)
       END
   FROM unnest($1::bigint[], $2::uuid[], $3::int[], $4::timestamptz[], $5::timestamptz[])
     AS held (webhook_id, claim_id, failures, failing_since, not_before)
   JOIN webhooks w ON w.id = held.webhook_id JOIN partners p ON p.branch_id = w.branch_id
   WHERE l.webhook_id = held.webhook_id AND l.claim_id = held.claim_id AND l.webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked))`,
)

/**
 * Writes down what became of attempts: only for lanes that the worker still holds. Whoever lost its lease settles nothing;
 * the lane's next holder sends those deliveries again. An attempt is counted once, however often it is told.
 */
export const settleDeliveries = statement(
  'settle_deliveries',
  `WITH held AS MATERIALIZED (
     SELECT l.webhook_id FROM lanes l JOIN unnest($1::bigint[], $2::uuid[]) AS mine (webhook_id, claim_id) USING (webhook_id, claim_id)),
   told AS MATERIALIZED (
     SELECT t.* FROM unnest($3::bigint[], $4::bigint[], $5::int[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::int[], $10::text[], $11::int[], $12::text[], $13::text[])
       AS t (delivery_id, webhook_id, attempts, state, due_at, at, duration_ms, outcome, status, why, response)
     WHERE t.webhook_id IN (SELECT webhook_id FROM held)),
   settled AS (
     UPDATE deliveries d SET state = told.state, due_at = coalesce(told.due_at, d.due_at), attempts = d.attempts + 1, tries = d.tries + 1,
       settled_at = CASE WHEN told.state = 'waiting' THEN NULL ELSE $14::timestamptz END
     FROM told WHERE d.id = told.delivery_id AND d.state = 'waiting' AND d.attempts = told.attempts
     RETURNING d.id, d.attempts, d.state, told.at, told.duration_ms, told.outcome, told.status, told.why, told.response),
   written AS (
     INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome, status, why, response)
     SELECT id, attempts, at, duration_ms, outcome, status, why, response FROM settled)
   SELECT id, state FROM settled`,
)

/** In a statement of its own: it sees the deliveries whose creation the settling had to wait for. */
export const releaseBlocked = statement(
  'release_blocked_deliveries',
  `UPDATE deliveries SET state = 'waiting', after_id = NULL, due_at = $2
   WHERE id = ANY (ARRAY(SELECT id FROM deliveries WHERE after_id = ANY ($1::bigint[]) AND state = 'blocked'))
   RETURNING webhook_id`,
)
