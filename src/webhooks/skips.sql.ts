import { statement } from '../database/database.ts'
import { attention } from './dispatch.sql.ts'

/**
 * What is left out is filed as canceled, with its reason and who wanted it. `freed` lets go on what waited behind it: its lane is told, but for
 * one that waits for its breaker's next probe, or until its receiver wants to be asked. Whoever has read some of it ahead hears of it. Under the
 * part's lock. $1 webhook, $2 now, $3 reason, $4 who, $5 from how much evidence on a breaker is open.
 */
const skipping = (chosen: string, freed: string) => `WITH chosen AS MATERIALIZED (${chosen}),
   gone AS (
     DELETE FROM queued_deliveries WHERE id = ANY (ARRAY(SELECT id FROM chosen)) RETURNING *),
   filed AS (
     INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats, reason, canceled_by)
     SELECT id, webhook_id, event_id, entity, 'canceled', attempts, created_at, $2::timestamptz, repeats, $3::text, $4::text FROM gone),
   freed AS (${freed} RETURNING webhook_id),
   told AS (
     UPDATE lanes SET ${attention({ now: '$2', threshold: '$5::int' })},
       has_news = claim_id IS NOT NULL
     WHERE webhook_id = $1 AND EXISTS (SELECT FROM freed)),
   announced AS (
     SELECT announce('webhook:' || $1::bigint), pg_notify('countersign_work', 'delivery  ' || $1::bigint)
     WHERE EXISTS (SELECT FROM gone))
   SELECT gone.id FROM gone LEFT JOIN announced ON true`

const dueNow = '(SELECT greatest($2, l.due_from) FROM lanes l WHERE l.webhook_id = $1)'

/** One ($6). What waited behind it waits for the one before it, if there is one. */
export const skipOne = statement(
  'skip_delivery',
  skipping(
    'SELECT id, after_id FROM queued_deliveries WHERE id = $6::bigint AND webhook_id = $1',
    `UPDATE queued_deliveries SET after_id = (SELECT after_id FROM chosen),
       due_at = CASE WHEN (SELECT after_id FROM chosen) IS NULL THEN ${dueNow} ELSE 'infinity' END
     WHERE after_id = $6 AND EXISTS (SELECT FROM chosen)`,
  ),
)

/**
 * A bite of all ($6 after which, $7 up to which, $8 how many), oldest first: of each entity the first ones go, so that what is left of it waits
 * for nothing. By pairs, because only the index of the webhook has that order.
 */
export const skipBite = statement(
  'skip_bite',
  skipping(
    'SELECT id FROM queued_deliveries WHERE (webhook_id + 0, id + 0) > ($1, $6::bigint) AND (webhook_id + 0, id + 0) <= ($1, $7::bigint) ORDER BY webhook_id + 0, id + 0 LIMIT $8',
    `UPDATE queued_deliveries SET after_id = NULL, due_at = ${dueNow}
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM queued_deliveries WHERE after_id = ANY (ARRAY(SELECT id FROM gone)))) AND id > (SELECT max(id) FROM chosen)`,
  ),
)

const columns =
  'id, webhook_id AS "webhookId", reason, asked_by AS "askedBy", state, skipped, created_at AS "createdAt", finished_at AS "finishedAt"'

/** By pairs, because only the index of the webhook has that order. */
export const newestQueued = `SELECT id FROM queued_deliveries WHERE (webhook_id + 0, id + 0) > ($1, 0) AND (webhook_id + 0, id + 0) < ($1::bigint + 1, 0)
  ORDER BY webhook_id + 0 DESC, id + 0 DESC LIMIT 1`

/** Nothing that is created later: numbers of a webhook's deliveries grow. */
export const insertSkip = statement(
  'insert_skip',
  `INSERT INTO skips (webhook_id, reason, asked_by, until_id, created_at, state, finished_at)
   SELECT $1, $2, $3, coalesce(newest.id, 0), $4::timestamptz, CASE WHEN newest.id IS NULL THEN 'finished' ELSE 'running' END,
     CASE WHEN newest.id IS NULL THEN $4::timestamptz END
   FROM (SELECT max(id) AS id FROM (${newestQueued}) last) newest
   ON CONFLICT (webhook_id) WHERE state = 'running'
   DO UPDATE SET until_id = greatest(skips.until_id, excluded.until_id), reason = excluded.reason, asked_by = excluded.asked_by
   RETURNING ${columns}`,
)

export const selectSkip = statement('select_skip', `SELECT ${columns} FROM skips WHERE id = $1 AND webhook_id = $2`)

export const selectSkips = statement(
  'select_skips',
  `SELECT ${columns} FROM skips WHERE webhook_id = $1 ORDER BY id DESC LIMIT 20`,
)

export const areSkipsRunning = `EXISTS (SELECT FROM skips WHERE state = 'running')`

export const takeSkip = statement(
  'take_skip',
  `SELECT s.id, s.webhook_id AS "webhookId", w.branch_id AS "branchId", s.reason, s.asked_by AS "askedBy", s.last_id AS "lastId", s.until_id AS "untilId",
     s.skipped
   FROM skips s JOIN webhooks w ON w.id = s.webhook_id
   WHERE s.state = 'running' ORDER BY s.turn, s.id LIMIT 1 FOR UPDATE OF s SKIP LOCKED`,
)

export const advanceSkip = statement(
  'advance_skip',
  `UPDATE skips SET skipped = skipped + $2, last_id = $3, turn = (SELECT max(turn) + 1 FROM skips WHERE state = 'running'),
     state = CASE WHEN $4 THEN 'finished' ELSE state END, finished_at = CASE WHEN $4 THEN $5::timestamptz END WHERE id = $1`,
)

/**
 * An attempt that was under way when its delivery was taken out of the queue was made all the same. For lanes that the worker still holds; once,
 * however often it is told.
 */
export const recordLateAttempts = statement(
  'record_late_attempts',
  `WITH told AS MATERIALIZED (
     SELECT t.* FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::int[], $5::timestamptz[], $6::int[], $7::text[], $8::int[], $9::text[], $10::text[], $12::text[])
       AS t (delivery_id, webhook_id, claim_id, number, at, duration_ms, outcome, status, why, response, detail)
     JOIN lanes l ON l.webhook_id = t.webhook_id AND l.claim_id = t.claim_id
     JOIN settled_deliveries d ON d.id = t.delivery_id AND d.state IN ('canceled', 'expired')),
   written AS (
     INSERT INTO attempts (day, delivery_id, number, at, duration_ms, outcome, status, why, response, detail)
     SELECT $11::int, delivery_id, number, at, duration_ms, outcome, status, why, response, detail FROM told
     WHERE NOT EXISTS (SELECT FROM attempts a WHERE a.delivery_id = told.delivery_id AND a.number = told.number))
   SELECT delivery_id AS id FROM told`,
)
