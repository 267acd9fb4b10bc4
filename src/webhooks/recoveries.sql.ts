import { statement } from '../database/database.ts'
import { statementOfDay } from './days.sql.ts'
import { lineFrom, lineOf } from './queue-key.ts'
import { newestQueued } from './skips.sql.ts'

/**
 * What was given up of a day, at or after a moment, and nothing was done about since: no delivery of the same event was accepted, came later, or is
 * under way. What a partner skipped stays skipped.
 */
const givenUp = (day: number) => `settled_deliveries_d${day} d
   WHERE d.webhook_id = $1 AND d.id > $2 AND d.id <= $3 AND d.state = 'exhausted' AND d.settled_at >= $4::timestamptz
     AND NOT EXISTS (SELECT FROM settled_deliveries other WHERE other.event_id = d.event_id AND other.webhook_id = d.webhook_id
       AND (other.state = 'delivered' OR other.id > d.id))
     AND NOT EXISTS (SELECT FROM queued_deliveries q WHERE ${lineOf('q')} = ${lineFrom('d.webhook_id', '1', 'd.entity')}
       AND q.event_id = d.event_id)`

export const countGivenUp = statementOfDay('count_given_up', (day) => `SELECT count(*) AS total FROM ${givenUp(day)}`)

export const selectGivenUp = statementOfDay(
  'select_given_up',
  (day) => `SELECT d.id FROM ${givenUp(day)} ORDER BY d.webhook_id, d.id LIMIT $5`,
)

const later = (urgency: 0 | 1) =>
  `(SELECT FROM queued_deliveries WHERE webhook_id = $1 AND urgency = ${urgency} AND due_at > $2 AND due_at < 'infinity' LIMIT $3)`

/** What waits for its next attempt, counted so far ($3) and no further. */
export const countLater = statement(
  'count_due_later',
  `SELECT count(*) AS waiting FROM (${later(0)} UNION ALL ${later(1)} LIMIT $3) counted`,
)

export const selectNewestQueued = statement(
  'select_newest_queued',
  `SELECT coalesce(max(id), 0) AS id FROM (${newestQueued}) last`,
)

export const selectRunningRecovery = statement(
  'select_running_recovery',
  `SELECT id FROM replays WHERE webhook_id = $1 AND state = 'running' AND selection ? 'since'`,
)

/** Of all that run ($1 null), or of one. */
export const takePull = statement(
  'take_pull',
  `SELECT r.id, r.webhook_id AS "webhookId", w.branch_id AS "branchId", r.pull_from AS "pullFrom", r.pull_until AS "pullUntil" FROM replays r JOIN webhooks w ON w.id = r.webhook_id
   WHERE r.state = 'running' AND r.pull_until IS NOT NULL AND ($1::bigint IS NULL OR r.id = $1)
   ORDER BY r.turn, r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED`,
)

/**
 * A bite of what waits for its next attempt is due now ($1 webhook, $2 now, $3 after which, $4 up to which, $5 how many). The first bite ($6) has the lane
 * looked at now, whatever its breaker or its receiver said: with an open breaker that is one probe. Later ones leave the lane its time. Under the
 * part's lock.
 */
export const pullBite = statement(
  'pull_bite',
  `WITH looked AS MATERIALIZED (
     SELECT id, after_id, due_at FROM queued_deliveries
     WHERE (webhook_id + 0, id + 0) > ($1, $3::bigint) AND (webhook_id + 0, id + 0) <= ($1, $4::bigint) ORDER BY webhook_id + 0, id + 0 LIMIT $5),
   pulled AS (
     UPDATE queued_deliveries SET due_at = (SELECT greatest($2, l.due_from) FROM lanes l WHERE l.webhook_id = $1)
     WHERE id = ANY (ARRAY(SELECT id FROM looked WHERE after_id IS NULL AND due_at > $2::timestamptz)) RETURNING id),
   told AS (
     UPDATE lanes SET
       attention_at = CASE
         WHEN claim_id IS NOT NULL THEN attention_at
         WHEN $6::boolean THEN $2
         WHEN evidence >= $7::int THEN coalesce(attention_at, $2)
         ELSE least(attention_at, greatest(held_until, $2)) END,
       has_news = claim_id IS NOT NULL,
       held_until = CASE WHEN $6 THEN '-infinity' ELSE held_until END
     WHERE webhook_id = $1 AND ($6 OR EXISTS (SELECT FROM pulled)) RETURNING webhook_id),
   woken AS (SELECT count(pg_notify('countersign_work', 'delivery  ' || webhook_id)) AS lanes FROM told)
   SELECT (SELECT count(*) FROM looked) AS looked, (SELECT coalesce(max(id), $3) FROM looked) AS reached, (SELECT count(*) FROM pulled) AS pulled
   FROM woken`,
)

export const advancePull = statement(
  'advance_pull',
  `UPDATE replays SET pulled = pulled + $2, pull_from = $3, turn = (SELECT max(turn) + 1 FROM replays WHERE state = 'running'),
     pull_until = CASE WHEN $4 THEN NULL ELSE pull_until END,
     state = CASE WHEN $4 AND total = 0 THEN 'finished' ELSE state END,
     finished_at = CASE WHEN $4 AND total = 0 THEN $5::timestamptz END WHERE id = $1`,
)
