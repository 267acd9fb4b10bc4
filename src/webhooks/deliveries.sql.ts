import { statement } from '../database/database.ts'

const columns = `d.id, d.webhook_id, d.state, d.entity, d.due_at, d.attempts, d.created_at, d.settled_at, e.uid, e.kind, e.action`

export const selectDelivery = statement(
  'select_delivery',
  `SELECT ${columns}, e.body FROM deliveries d JOIN events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id
   WHERE d.id = $1 AND w.branch_id = $2 AND w.environment = $3 AND w.state <> 'deleted'`,
)

export const selectAttempts = statement(
  'select_attempts',
  'SELECT number, at, duration_ms, outcome, status, why, response FROM attempts WHERE delivery_id = $1 ORDER BY number',
)

export const selectDeliveriesOfEvent = statement(
  'select_deliveries_of_event',
  `SELECT d.id, d.webhook_id, d.state, d.attempts, w.url,
          (SELECT row_to_json(a) FROM (
             SELECT number, outcome, status, why, duration_ms FROM attempts WHERE delivery_id = d.id ORDER BY number DESC LIMIT 1) a) AS last_attempt
   FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.event_id = $1 ORDER BY d.id`,
)

export const selectEvent = statement(
  'select_event',
  'SELECT uid, kind, action FROM events WHERE id = $1 AND branch_id = $2 AND environment = $3',
)

export const selectInboxed = statement('select_inboxed', 'SELECT event_id FROM event_inbox WHERE event_id = $1')

/** Holds still what redeliveries will have to wait for, and them: the same care as in `lockTails`, in the same order. */
export const lockEntities = statement(
  'lock_entities_of_deliveries',
  `SELECT d.id FROM deliveries d WHERE d.id = ANY (ARRAY(
     SELECT before.id FROM deliveries chosen CROSS JOIN LATERAL (
       SELECT u.id FROM deliveries u WHERE u.webhook_id = chosen.webhook_id AND u.entity = chosen.entity
         AND u.state IN ('blocked', 'waiting') AND u.id < chosen.id ORDER BY u.id DESC LIMIT 1) before
     WHERE chosen.id = ANY ($1::bigint[])) || $1::bigint[])
   ORDER BY d.id FOR UPDATE`,
)

/**
 * Sets settled deliveries going again, with a fresh schedule and in the order of their entity, and their lanes with them.
 * Blocked ones keep their place, and so do those that wait already: they may be under way.
 */
export const redeliver = statement(
  'redeliver',
  `WITH chosen AS MATERIALIZED (
     SELECT d.id, CASE WHEN d.state <> 'waiting' THEN coalesce(
       lag(d.id) OVER (PARTITION BY d.webhook_id, d.entity ORDER BY d.id),
       (SELECT u.id FROM deliveries u WHERE u.webhook_id = d.webhook_id AND u.entity = d.entity
          AND u.state IN ('blocked', 'waiting') AND u.id < d.id ORDER BY u.id DESC LIMIT 1)) END AS before_id
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id AND w.state <> 'deleted'
     WHERE d.id = ANY ($1::bigint[]) AND d.state <> 'blocked'),
   again AS (
     UPDATE deliveries d SET state = CASE WHEN chosen.before_id IS NULL THEN 'waiting' ELSE 'blocked' END, after_id = chosen.before_id,
       tries = 0, due_at = $2, settled_at = NULL
     FROM chosen WHERE d.id = chosen.id AND d.id = ANY ($1::bigint[]) RETURNING d.id, d.webhook_id),
   locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM again)) ORDER BY webhook_id FOR UPDATE),
   told AS (
     UPDATE lanes SET attention_at = CASE WHEN claim_id IS NULL THEN least(attention_at, $2) ELSE attention_at END,
       has_news = claim_id IS NOT NULL
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked))),
   woken AS (SELECT pg_notify('countersign_work', 'delivery') FROM again LIMIT 1)
   SELECT again.id FROM again LEFT JOIN woken ON true`,
)

const chosen = `d.webhook_id = $1
     AND ($2::timestamptz IS NULL OR e.created_at >= $2) AND ($3::timestamptz IS NULL OR e.created_at < $3)
     AND ($4::text IS NULL OR d.entity = $4) AND ($5::text IS NULL OR d.state = $5) AND d.state <> 'blocked'`

export const countChosen = statement(
  'count_chosen_deliveries',
  `SELECT count(*) AS total, coalesce(max(d.id), 0) AS until_id FROM deliveries d JOIN events e ON e.id = d.event_id WHERE ${chosen}`,
)

export const selectChosen = statement(
  'select_chosen_deliveries',
  `SELECT d.id FROM deliveries d JOIN events e ON e.id = d.event_id
   WHERE ${chosen} AND d.id > $6 AND d.id <= $7 ORDER BY d.id LIMIT $8`,
)

const replayColumns = 'id, webhook_id, selection, state, total, done, created_at, finished_at'

export const insertReplay = statement(
  'insert_replay',
  `INSERT INTO replays (webhook_id, selection, total, until_id, state, created_at, finished_at)
   VALUES ($1, $2, $3::int, $4, CASE WHEN $3 = 0 THEN 'finished' ELSE 'running' END, $5, CASE WHEN $3 = 0 THEN $5::timestamptz END)
   RETURNING ${replayColumns}`,
)

/** Holds still whoever else wants to start one; the count, in a statement of its own, then sees all of them. */
export const lockReplays = statement('lock_replays', 'SELECT id FROM webhooks WHERE id = $1 FOR NO KEY UPDATE')

export const selectRunningReplays = statement(
  'select_running_replays',
  `SELECT id FROM replays WHERE webhook_id = $1 AND state = 'running'`,
)

export const selectReplay = statement(
  'select_replay',
  `SELECT ${replayColumns} FROM replays WHERE id = $1 AND webhook_id = $2`,
)

export const selectReplays = statement(
  'select_replays',
  `SELECT ${replayColumns} FROM replays WHERE webhook_id = $1 ORDER BY id DESC LIMIT 50`,
)

export const takeReplay = statement(
  'take_replay',
  `SELECT ${replayColumns}, last_id, until_id FROM replays WHERE state = 'running' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`,
)

export const advanceReplay = statement(
  'advance_replay',
  `UPDATE replays SET done = done + $2, last_id = $3, state = CASE WHEN $4 THEN 'finished' ELSE state END,
     finished_at = CASE WHEN $4 THEN $5::timestamptz END WHERE id = $1`,
)

export const cancelReplay = statement(
  'cancel_replay',
  `UPDATE replays SET state = 'canceled', finished_at = $3 WHERE id = $1 AND webhook_id = $2 AND state = 'running' RETURNING ${replayColumns}`,
)
