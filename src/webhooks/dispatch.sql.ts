import { statement } from '../database/database.ts'

export const tryLockDispatch = statement('try_lock_dispatch', 'SELECT pg_try_advisory_xact_lock(7267103) AS locked')

/** For whoever must not meet a dispatch under way. */
export const lockDispatch = statement('lock_dispatch', 'SELECT pg_advisory_xact_lock(7267103)')

/** Takes events out of the inbox and gives each the next number of its branch. */
export const numberEvents = statement(
  'number_events',
  `WITH taken AS MATERIALIZED (
     DELETE FROM event_inbox WHERE event_id = ANY (ARRAY(SELECT event_id FROM event_inbox ORDER BY event_id LIMIT $1))
     RETURNING event_id),
   placed AS MATERIALIZED (
     SELECT e.id, e.branch_id, e.environment, row_number() OVER (PARTITION BY e.branch_id, e.environment ORDER BY e.id) AS place
     FROM taken JOIN events e ON e.id = taken.event_id),
   counted AS (
     INSERT INTO branch_sequences AS s (branch_id, environment, last)
     SELECT branch_id, environment, count(*) FROM placed GROUP BY branch_id, environment
     ON CONFLICT (branch_id, environment) DO UPDATE SET last = s.last + excluded.last
     RETURNING branch_id, environment, last),
   totals AS (SELECT branch_id, environment, count(*) AS added FROM placed GROUP BY branch_id, environment),
   logged AS (
     INSERT INTO branch_log (branch_id, environment, sequence, event_id)
     SELECT p.branch_id, p.environment, c.last - t.added + p.place, p.id
     FROM placed p JOIN counted c USING (branch_id, environment) JOIN totals t USING (branch_id, environment))
   SELECT id FROM placed ORDER BY id`,
)

/** Asked for only where somebody traces. */
export const selectPublishes = statement(
  'select_publishes',
  'SELECT traceparent, count(*) AS events FROM events WHERE id = ANY ($1::bigint[]) AND traceparent IS NOT NULL GROUP BY traceparent',
)

/**
 * Holds still the last unfinished delivery of every entity that gets a new one. Whoever is just settling it finishes first;
 * whoever comes later waits for us, and then sees the new delivery behind it. Neither can miss the other.
 */
export const lockTails = statement(
  'lock_delivery_tails',
  `SELECT d.id FROM deliveries d WHERE d.id = ANY (ARRAY(
     SELECT tail.id FROM (SELECT DISTINCT branch_id, environment, entity FROM events WHERE id = ANY ($1::bigint[])) e
     JOIN webhooks w ON w.branch_id = e.branch_id AND w.environment = e.environment AND w.state <> 'deleted'
     CROSS JOIN LATERAL (
       SELECT u.id FROM deliveries u WHERE u.webhook_id = w.id AND u.entity = e.entity AND u.state IN ('blocked', 'waiting')
       ORDER BY u.id DESC LIMIT 1) tail))
   ORDER BY d.id FOR UPDATE`,
)

/**
 * One delivery an event and webhook. A delivery whose entity has an unfinished one is blocked behind it, be it an older one
 * or one of this very batch; the others wait for a worker. Lanes are told: an idle one needs attention (but waits for its next
 * probe while its breaker is open), a held one has news; that of a paused webhook too, which may be resumed just now: whoever
 * looks at it in vain puts it to rest. Answers whose lanes somebody should look at now.
 */
export const createDeliveries = statement(
  'create_deliveries',
  `WITH wanted AS MATERIALIZED (
     SELECT nextval('deliveries_id_seq') AS id, pair.* FROM (
       SELECT e.id AS event_id, e.entity, w.id AS webhook_id
       FROM events e JOIN webhooks w ON w.branch_id = e.branch_id AND w.environment = e.environment AND w.state <> 'deleted'
         AND (e.simulated OR e.kind = ANY (w.kinds))
       WHERE e.id = ANY ($1::bigint[]) ORDER BY e.id, w.id) pair),
   chained AS (
     SELECT wanted.*, coalesce(
       lag(wanted.id) OVER (PARTITION BY webhook_id, entity ORDER BY wanted.id),
       (SELECT d.id FROM deliveries d WHERE d.webhook_id = wanted.webhook_id AND d.entity = wanted.entity
          AND d.state IN ('blocked', 'waiting') ORDER BY d.id DESC LIMIT 1)) AS after_id
     FROM wanted),
   created AS (
     INSERT INTO deliveries (id, webhook_id, event_id, entity, state, after_id, due_at, created_at) OVERRIDING SYSTEM VALUE
     SELECT id, webhook_id, event_id, entity, CASE WHEN after_id IS NULL THEN 'waiting' ELSE 'blocked' END, after_id, $2, $2
     FROM chained),
   locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM wanted))
     ORDER BY webhook_id FOR UPDATE),
   told AS (
     UPDATE lanes SET
       attention_at = CASE
         WHEN claim_id IS NOT NULL THEN attention_at
         WHEN failures >= $3 THEN coalesce(attention_at, $2)
         ELSE least(attention_at, $2) END,
       has_news = claim_id IS NOT NULL
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked))
     RETURNING webhook_id, claim_id, attention_at)
   SELECT webhook_id FROM told WHERE claim_id IS NOT NULL OR attention_at <= $2`,
)
