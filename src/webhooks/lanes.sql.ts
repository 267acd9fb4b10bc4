import { statement } from '../database/database.ts'
import { statementOfDay } from './days.sql.ts'
import { isOfDay } from './days.ts'
import { lineOf, placeOf } from './queue-key.ts'

/** Lanes that need somebody: idle with something due. Not those that this worker has just given up. They are its own until it lets them go or is gone. */
export const claimLanes = statement(
  'claim_lanes',
  `UPDATE lanes SET claim_id = $1, held_by = $5, attention_at = 'infinity', has_news = false
   WHERE webhook_id = ANY (ARRAY(
     SELECT webhook_id FROM lanes WHERE attention_at <= $2 AND webhook_id NOT IN (SELECT unnest($4::bigint[]))
     ORDER BY attention_at LIMIT $3 FOR UPDATE SKIP LOCKED))
   RETURNING webhook_id AS "webhookId", (SELECT branch_id FROM webhooks w WHERE w.id = webhook_id) AS "branchId", part, failures,
     failing_since AS "failingSince", evidence, due_from AS "dueFrom", limited_until AS "limitedUntil"`,
)

/** A lane that nobody holds needs somebody. */
export const areLanesDue = 'EXISTS (SELECT FROM lanes WHERE attention_at <= round.now)'

/** Lanes of claims whose answer never came are free for everybody. */
export const undoClaims = statement(
  'undo_claims',
  'UPDATE lanes SET claim_id = NULL, held_by = NULL, attention_at = $2 WHERE claim_id = ANY ($1::uuid[])',
)

export const selectHeld = statement(
  'select_held_lanes',
  'SELECT webhook_id AS "webhookId", claim_id AS "claimId" FROM lanes WHERE held_by = $1',
)

export const freeForgotten = statement(
  'free_forgotten_lanes',
  `UPDATE lanes SET claim_id = NULL, held_by = NULL, attention_at = $3
   FROM unnest($1::bigint[], $2::uuid[]) AS forgotten (webhook_id, claim_id)
   WHERE lanes.webhook_id = forgotten.webhook_id AND lanes.claim_id = forgotten.claim_id`,
)

/** Lane by lane: however many webhooks there are, those that are asked for are looked at. */
const sendable = `CROSS JOIN LATERAL (SELECT id, branch_id, environment, url, rate_limit FROM webhooks WHERE id = lane.webhook_id AND state = 'active' OFFSET 0) w
   CROSS JOIN LATERAL (SELECT FROM partners WHERE branch_id = w.branch_id AND may_act(status, w.environment) OFFSET 0) p`

/** Of what is `due` at a webhook `w`, which is asked for its id where nothing may be due. */
const dueColumns = (webhookId: 'w.id' | 'due.webhook_id') =>
  `due.id, ${webhookId} AS "webhookId", due.event_id AS "eventId", due.entity, w.branch_id AS "branchId", due.due_at AS "dueAt", due.attempts, due.repeats, w.url, w.rate_limit AS "rateLimit"`

const due = (urgency: 0 | 1) => `
     (SELECT q.id, q.webhook_id, q.event_id, q.entity, q.attempts, q.due_at, q.repeats FROM queued_deliveries q
      WHERE q.webhook_id = lane.webhook_id AND q.urgency = ${urgency} AND q.due_at >= lane.due_from AND q.due_at <= $3
        AND q.id NOT IN (SELECT unnest($4::bigint[]))
      ORDER BY q.due_at, ${placeOf('q')} LIMIT lane.most)`

/**
 * The next deliveries of lanes that this worker holds, in the order they are due; what happens now before what is sent again; never one that it
 * has in hand already. A lane in which nothing is due has a row without a delivery; one whose webhook is switched off, or whose partner may have
 * nothing, has none.
 */
export const selectDue = statement(
  'select_due_deliveries',
  `SELECT ${dueColumns('w.id')}
   FROM unnest($1::bigint[], $2::int[], $5::timestamptz[]) AS lane (webhook_id, most, due_from)
   ${sendable}
   LEFT JOIN LATERAL (SELECT * FROM (${due(0)} UNION ALL ${due(1)}) both_urgencies LIMIT lane.most) due ON true`,
)

/** Enough to see whether somebody is well. */
const candidates = 100

/** Of a row `lane` (webhook_id, due_from), what is due at a moment. */
const candidatesOf = (urgency: 0 | 1, order: 'ASC' | 'DESC', now: string) => `
     (SELECT q.id, q.webhook_id, q.event_id, q.entity, q.attempts, q.due_at, q.repeats FROM queued_deliveries q
      WHERE q.webhook_id = lane.webhook_id AND q.urgency = ${urgency} AND q.due_at >= lane.due_from AND q.due_at <= ${now}
      ORDER BY q.due_at ${order}, ${placeOf('q')} ${order} LIMIT ${candidates})`

/**
 * Whom a lane with an open breaker asks next: who was tried least, then who waits longest. Entities that the receiver always refuses have been
 * tried; a healthy one has not.
 */
export const nextProbe = (now: string) => `SELECT * FROM (
       ${candidatesOf(0, 'ASC', now)} UNION ALL ${candidatesOf(0, 'DESC', now)} UNION ALL ${candidatesOf(1, 'ASC', now)}) candidates
     ORDER BY attempts, due_at, id LIMIT 1`

export const selectProbes = statement(
  'select_probes',
  `SELECT ${dueColumns('due.webhook_id')}
   FROM unnest($1::bigint[], $3::timestamptz[]) AS lane (webhook_id, due_from)
   ${sendable}
   CROSS JOIN LATERAL (${nextProbe('$2')}) due`,
)

/** What is delivered: the same for every webhook, and every attempt. */
export const selectBodies = statementOfDay(
  'select_bodies',
  (day) =>
    `SELECT id, uid, created_at AS "publishedAt", traceparent, simulated, body FROM events WHERE id = ANY ($1::bigint[]) AND ${isOfDay('id', day)}`,
)

/**
 * A worker that has a new number takes along what is still its own. Several lanes are always locked in one order, so that workers and the dispatcher
 * cannot wait for each other in a circle.
 */
export const confirmLanes = statement(
  'confirm_lanes',
  `WITH locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE webhook_id = ANY ($1::bigint[]) AND claim_id = ANY ($2::uuid[]) ORDER BY webhook_id FOR UPDATE)
   UPDATE lanes SET held_by = $3 WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked)) RETURNING webhook_id AS "webhookId"`,
)

const earliest = (urgency: 0 | 1) =>
  `(SELECT q.due_at FROM queued_deliveries q WHERE q.webhook_id = l.webhook_id AND q.urgency = ${urgency} AND q.due_at >= held.due_from
      AND q.due_at < 'infinity' ORDER BY q.due_at, ${placeOf('q')} LIMIT 1)`

/**
 * Lets lanes go. A lane is next looked at when its earliest delivery is due (or its breaker probes, or its receiver wants to be asked
 * again); at once when news came while it was held, because the statement may not see what the news was about; never while its
 * webhook is switched off or its partner may have nothing.
 */
export const releaseLanes = statement(
  'release_lanes',
  `WITH locked AS MATERIALIZED (
     SELECT webhook_id FROM lanes WHERE webhook_id = ANY ($1::bigint[]) ORDER BY webhook_id FOR UPDATE)
   UPDATE lanes l SET claim_id = NULL, held_by = NULL, has_news = false, failures = held.failures, failing_since = held.failing_since,
     evidence = held.evidence, due_from = held.due_from, held_until = coalesce(held.held_until, '-infinity'),
     limited_until = coalesce(held.limited_until, '-infinity'),
     attention_at = CASE
       WHEN (w.state <> 'active' OR NOT may_act(p.status, w.environment)) AND NOT l.has_news THEN NULL
       ELSE greatest(held.not_before, CASE WHEN l.has_news THEN $8 ELSE least(${earliest(0)}, ${earliest(1)}) END)
       END
   FROM unnest($1::bigint[], $2::uuid[], $3::int[], $4::timestamptz[], $5::timestamptz[], $6::int[], $7::timestamptz[], $9::timestamptz[], $10::timestamptz[])
     AS held (webhook_id, claim_id, failures, failing_since, not_before, evidence, due_from, held_until, limited_until)
   JOIN webhooks w ON w.id = held.webhook_id JOIN partners p ON p.branch_id = w.branch_id
   WHERE l.webhook_id = held.webhook_id AND l.claim_id = held.claim_id AND l.webhook_id = ANY (ARRAY(SELECT webhook_id FROM locked))`,
)

/**
 * Writes down what became of attempts: only for lanes that the worker still holds by `claim_id` (a fencing token). Whoever lost its lease settles nothing; the lane's
 * next holder sends those deliveries again. An attempt is counted once, however often it is told. What is finished leaves the
 * queue for the day it was created on, and what waited behind it is due now. Under the part's lock: what is found by its number stays
 * where it lies until it is changed there.
 */
export const settleDeliveries = statementOfDay('settle_deliveries', (day) => settling(`settled_deliveries_d${day}`))

/** Of days that may have left: then there is nothing to settle either. */
export const settleOldDeliveries = statement('settle_old_deliveries', settling('settled_deliveries'))

/** Computed once. */
function waiting(column: string): string {
  return `ARRAY(SELECT ${column} FROM found WHERE state = 'waiting' ORDER BY id)`
}

function settling(settled: string): string {
  return `WITH held AS MATERIALIZED (
     SELECT l.webhook_id FROM lanes l JOIN unnest($1::bigint[], $2::uuid[]) AS mine (webhook_id, claim_id) USING (webhook_id, claim_id)),
   told AS MATERIALIZED (
     SELECT t.* FROM unnest($3::bigint[], $4::bigint[], $5::int[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::int[], $10::text[], $11::int[], $12::text[], $13::text[], $16::text[])
       AS t (delivery_id, webhook_id, attempts, state, due_at, at, duration_ms, outcome, status, why, response, detail)
     WHERE t.webhook_id IN (SELECT webhook_id FROM held)),
   found AS MATERIALIZED (
     SELECT DISTINCT ON (q.id) q.row, q.id, q.webhook_id, q.event_id, q.entity, q.attempts + 1 AS attempts, q.created_at, q.repeats,
       told.state, told.due_at, told.at, told.duration_ms, told.outcome, told.status, told.why, told.response, told.detail
     FROM told CROSS JOIN LATERAL (
       SELECT ctid AS row, id, webhook_id, event_id, entity, attempts, created_at, repeats FROM queued_deliveries
       WHERE id = told.delivery_id AND attempts = told.attempts OFFSET 0) q),
   gone AS (
     DELETE FROM queued_deliveries WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE state <> 'waiting')) RETURNING id),
   kept AS (
     UPDATE queued_deliveries q SET attempts = q.attempts + 1,
       due_at = (${waiting('due_at')})[array_position(${waiting('id')}, q.id)]
     WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE state = 'waiting')) RETURNING q.id),
   changed AS MATERIALIZED (
     SELECT * FROM found WHERE id IN (SELECT id FROM gone UNION ALL SELECT id FROM kept)),
   filed AS (
     INSERT INTO ${settled} (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats)
     SELECT id, webhook_id, event_id, entity, state, attempts, created_at, $14::timestamptz, repeats FROM changed WHERE state <> 'waiting'),
   written AS (
     INSERT INTO attempts (day, delivery_id, number, at, duration_ms, outcome, status, why, response, detail)
     SELECT $15::int, id, attempts, at, duration_ms, outcome, status, why, response, detail FROM changed),
   freed AS (
     UPDATE queued_deliveries SET after_id = NULL, due_at = $14 WHERE after_id = ANY (ARRAY(SELECT id FROM gone)) RETURNING webhook_id)
   SELECT id, state, false AS freed, NULL::bigint AS "webhookId" FROM changed
   UNION ALL SELECT NULL, NULL, true, webhook_id FROM freed`
}

/** The one that goes before `q`: of the same webhook, entity and urgency, unfinished. By the one index that has them in this order. */
export const before = `(SELECT b.id FROM queued_deliveries b WHERE ${lineOf('b')} = ${lineOf('q')} AND ${placeOf('b')} < q.id
     ORDER BY ${placeOf('b')} DESC LIMIT 1)`

/** What waited behind those that left the queue unsent waits behind the ones before them, or goes now. Under the part's lock. */
export const joinBehind = statement(
  'join_behind',
  `UPDATE queued_deliveries q SET after_id = ${before},
     due_at = CASE WHEN ${before} IS NULL THEN greatest($2::timestamptz, (SELECT due_from FROM lanes l WHERE l.webhook_id = q.webhook_id)) ELSE 'infinity' END
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM queued_deliveries WHERE after_id = ANY ($1::bigint[])))`,
)

/** Whoever holds one of these lanes looks again; an idle one is looked at now. */
export const tellLanes = statement(
  'tell_lanes',
  `UPDATE lanes SET attention_at = CASE WHEN claim_id IS NULL THEN least(attention_at, $2) ELSE attention_at END, has_news = claim_id IS NOT NULL
   WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM lanes WHERE webhook_id = ANY ($1::bigint[]) ORDER BY webhook_id FOR UPDATE))`,
)

export const wakeOthers = statement('wake_others', "SELECT pg_notify('countersign_work', 'delivery')")
