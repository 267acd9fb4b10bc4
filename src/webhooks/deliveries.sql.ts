import { statement } from '../database/database.ts'
import { statementOfDay } from './days.sql.ts'
import { isOfDay } from './days.ts'
import { lineFrom, lineOf, placeOf } from './queue-key.ts'

/** Of a delivery `d` with its event `e`. */
export const deliveryColumns = `d.id, d.webhook_id AS "webhookId", d.event_id AS "eventId", d.state, d.entity, d.due_at AS "dueAt", d.attempts,
  d.created_at AS "createdAt", d.settled_at AS "settledAt", d.repeats, d.reason, d.canceled_by AS "canceledBy", e.uid, e.kind, e.action`

export const selectDelivery = statement(
  'select_delivery',
  `SELECT ${deliveryColumns}, e.body, e.simulated FROM (SELECT * FROM deliveries WHERE id = $1 OFFSET 0) d
   CROSS JOIN LATERAL (SELECT * FROM events WHERE id = d.event_id OFFSET 0) e JOIN webhooks w ON w.id = d.webhook_id
   WHERE w.branch_id = $2 AND w.environment = $3 AND w.state <> 'deleted'`,
)

/** On the day of the delivery and later. */
export const selectAttempts = statement(
  'select_attempts',
  'SELECT number, at, duration_ms AS "durationMs", outcome, status, why, detail, response FROM attempts WHERE delivery_id = $1 AND day >= $2 ORDER BY number',
)

export const selectDeliveriesOfEvent = statement(
  'select_deliveries_of_event',
  `SELECT d.id, d.webhook_id AS "webhookId", d.state, d.attempts, w.url, w.state AS "webhookState",
          (SELECT row_to_json(a) FROM (
             SELECT number, outcome, status, why, detail, duration_ms AS "durationMs" FROM attempts WHERE delivery_id = d.id AND day >= d.id / 10000000000 ORDER BY number DESC LIMIT 1) a) AS "lastAttempt"
   FROM (
     SELECT q.id, q.webhook_id, q.state, q.attempts FROM (SELECT * FROM events WHERE id = $1 OFFSET 0) e
     JOIN webhooks w ON w.branch_id = e.branch_id AND w.environment = e.environment AND w.state <> 'deleted'
     CROSS JOIN LATERAL (
       SELECT q.id, q.webhook_id, CASE WHEN q.after_id IS NULL THEN 'waiting' ELSE 'blocked' END AS state, q.attempts FROM queued_deliveries q
       WHERE ${lineOf('q')} = ANY (ARRAY[${lineFrom('w.id', '0', 'e.entity')}, ${lineFrom('w.id', '1', 'e.entity')}]) AND q.event_id = e.id OFFSET 0) q
     UNION ALL SELECT id, webhook_id, state, attempts FROM settled_deliveries WHERE event_id = $1) d
   CROSS JOIN LATERAL (SELECT url, state FROM webhooks WHERE id = d.webhook_id OFFSET 0) w ORDER BY d.id`,
)

export const selectEvent = statement(
  'select_event',
  'SELECT uid, kind, action, webhook_id AS "webhookId" FROM events WHERE id = $1 AND branch_id = $2 AND environment = $3',
)

/** Of those that wait behind another: the first of their line, which is the one that is being tried. By their numbers, not through all that waits behind something. */
export const selectAhead = statement(
  'select_deliveries_ahead',
  `SELECT q.id, ahead.id AS "aheadId", ahead.attempts, ahead.due_at AS "dueAt"
   FROM (SELECT * FROM queued_deliveries WHERE id = ANY ($1::bigint[]) OFFSET 0) q CROSS JOIN LATERAL (
     SELECT b.id, b.attempts, b.due_at FROM queued_deliveries b WHERE ${lineOf('b')} = ${lineOf('q')} ORDER BY ${placeOf('b')} LIMIT 1) ahead
   WHERE q.after_id IS NOT NULL`,
)

/** Asks the dispatcher for new deliveries of the same events. What is gone, or whose webhook is, is not asked for. */
export const requestRepeats = statement(
  'request_repeats',
  `INSERT INTO inbox (part, event_id, branch_id, environment, kind, entity, simulated, webhook_id, repeats, replay_id)
   SELECT w.branch_id % 16, e.id, w.branch_id, w.environment, e.kind, d.entity, e.simulated, w.id, d.id, $2
   FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (id, place) JOIN settled_deliveries d ON d.id = asked.id
   JOIN events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id AND w.state <> 'deleted'
   ORDER BY asked.place RETURNING repeats`,
)

/** The newest delivery that repeats another. */
export const selectRepeat = statement(
  'select_repeat',
  `SELECT max(id) AS id FROM (
     SELECT id FROM queued_deliveries q WHERE ${lineOf('q')} = ${lineFrom('$1::bigint', '1', '$2::text')} AND repeats = $3
     UNION ALL SELECT id FROM settled_deliveries WHERE event_id = $4 AND repeats = $3) found`,
)

/** What waits for its next attempt need not wait any longer, and its lane is looked at. Under the part's lock. */
export const pullForward = statement(
  'pull_forward',
  `WITH pulled AS (
     UPDATE queued_deliveries q SET due_at = greatest($2, (SELECT due_from FROM lanes l WHERE l.webhook_id = q.webhook_id))
     WHERE q.id = $1 AND q.after_id IS NULL RETURNING q.webhook_id),
   told AS (
     UPDATE lanes SET attention_at = CASE WHEN claim_id IS NULL THEN least(attention_at, $2) ELSE attention_at END,
       has_news = claim_id IS NOT NULL
     WHERE webhook_id = (SELECT webhook_id FROM pulled)),
   woken AS (SELECT pg_notify('countersign_work', 'delivery') FROM pulled)
   SELECT pulled.webhook_id AS "webhookId" FROM pulled, woken`,
)

/**
 * What a replay chooses of a day: deliveries that repeat nothing. Of those that failed, the ones that no later delivery of the same event has made good.
 */
const chosen = (
  day: number,
) => `settled_deliveries d WHERE ${isOfDay('d.id', day)} AND d.webhook_id = $1 AND d.id > $2 AND d.id <= $3 AND d.repeats IS NULL
     AND ($4::timestamptz IS NULL OR d.created_at >= $4) AND ($5::timestamptz IS NULL OR d.created_at < $5)
     AND ($6::text IS NULL OR d.entity = $6)`

const failed = `d.state = 'exhausted' AND NOT EXISTS (
     SELECT FROM settled_deliveries made_good WHERE made_good.event_id = d.event_id AND made_good.webhook_id + 0 = d.webhook_id AND made_good.state = 'delivered' OFFSET 0)`

export const countChosen = statementOfDay('count_chosen', (day) => `SELECT count(*) AS total FROM ${chosen(day)}`)
export const countFailed = statementOfDay(
  'count_failed',
  (day) => `SELECT count(*) AS total FROM ${chosen(day)} AND ${failed}`,
)

export const selectChosen = statementOfDay(
  'select_chosen',
  (day) => `SELECT d.id FROM ${chosen(day)} ORDER BY d.webhook_id, d.id LIMIT $7`,
)
export const selectFailed = statementOfDay(
  'select_failed',
  (day) => `SELECT d.id FROM ${chosen(day)} AND ${failed} ORDER BY d.webhook_id, d.id LIMIT $7`,
)

/** The days that are kept, oldest first; 0 holds what is older than the counting of days. */
export const selectDays = statement(
  'select_days',
  `SELECT day FROM (
     SELECT substring(child.relname FROM '_d(\\d+)$')::int AS day FROM pg_inherits i JOIN pg_class child ON child.oid = i.inhrelid
     WHERE i.inhparent = 'settled_deliveries'::regclass) kept
   WHERE day = 0 OR day BETWEEN $1 AND $2 ORDER BY day`,
)

/** The newest number that was given to a delivery. */
export const selectNewest = statement(
  'select_newest_settled',
  'SELECT coalesce(max(id), 0) AS id FROM settled_deliveries WHERE webhook_id = $1 AND (webhook_id, id) <= ($1, $2)',
)

const replayColumns =
  'id, webhook_id AS "webhookId", selection, state, total, done, pulled, created_at AS "createdAt", finished_at AS "finishedAt"'

export const insertReplay = statement(
  'insert_replay',
  `INSERT INTO replays (webhook_id, selection, total, until_id, pull_until, state, created_at, finished_at)
   VALUES ($1, $2, $3::int, $4, $6::bigint, CASE WHEN $3 = 0 AND $6 IS NULL THEN 'finished' ELSE 'running' END, $5,
     CASE WHEN $3 = 0 AND $6 IS NULL THEN $5::timestamptz END)
   RETURNING ${replayColumns}`,
)

/** Holds still whoever else wants to start one; the count, in a statement of its own, then sees all of them. */
export const lockReplays = statement('lock_replays', 'SELECT id FROM webhooks WHERE id = $1 FOR NO KEY UPDATE')

export const selectRunningReplays = statement(
  'select_running_replays',
  `SELECT id FROM replays WHERE webhook_id = $1 AND state = 'running'`,
)

export const areReplaysRunning = `EXISTS (SELECT FROM replays WHERE state = 'running')`
export const selectRunning = statement('select_running', `SELECT FROM replays WHERE state = 'running' LIMIT 1`)

export const selectReplay = statement(
  'select_replay',
  `SELECT ${replayColumns} FROM replays WHERE id = $1 AND webhook_id = $2`,
)

export const selectReplays = statement(
  'select_replays',
  `SELECT ${replayColumns} FROM replays WHERE webhook_id = $1 ORDER BY id DESC LIMIT 50`,
)

const unreadAtMost = 500
const entries = 'SELECT i.replay_id FROM inbox i WHERE i.part = newest.part'

/** Whether the part of a replay's webhook has read whatever the replay has asked for, and is not far behind. */
const hasCaughtUp = `(SELECT count(*) < ${unreadAtMost} AND count(*) FILTER (WHERE unread.replay_id = r.id) = 0
     FROM webhooks w CROSS JOIN LATERAL (SELECT part, read FROM inbox_reads WHERE part = (w.branch_id % 16)::smallint ORDER BY number DESC LIMIT 1) newest
     CROSS JOIN LATERAL (
       (${entries} AND i.xid >= pg_snapshot_xmax(newest.read) ORDER BY i.part, i.xid, i.id LIMIT ${unreadAtMost})
       UNION ALL
       (${entries} AND i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(newest.read))) ORDER BY i.part, i.xid, i.id LIMIT ${unreadAtMost})) unread
     WHERE w.id = r.webhook_id)`

/**
 * Whose turn was longest ago, and who pulls nothing forward any more; not while as much as this of the webhook's waits to be sent again already, nor before its last page has been
 * dispatched: what happens now stands in the same inbox, behind whatever was asked for before.
 */
export const takeReplay = statement(
  'take_replay',
  `SELECT ${replayColumns}, last_id AS "lastId", until_id AS "untilId" FROM replays r WHERE state = 'running' AND pull_until IS NULL AND (
     SELECT count(*) FROM (SELECT FROM queued_deliveries q WHERE q.webhook_id = r.webhook_id AND q.urgency = 1 ORDER BY q.due_at LIMIT $1) waiting) < $1
     AND ${hasCaughtUp}
   ORDER BY turn, id LIMIT 1 FOR UPDATE SKIP LOCKED`,
)

export const advanceReplay = statement(
  'advance_replay',
  `UPDATE replays SET done = done + $2, last_id = $3, turn = (SELECT max(turn) + 1 FROM replays WHERE state = 'running'), state = CASE WHEN $4 THEN 'finished' ELSE state END,
     finished_at = CASE WHEN $4 THEN $5::timestamptz END WHERE id = $1`,
)

export const cancelReplay = statement(
  'cancel_replay',
  `UPDATE replays SET state = 'canceled', pull_until = NULL, finished_at = $3 WHERE id = $1 AND webhook_id = $2 AND state = 'running' RETURNING ${replayColumns}`,
)

/** Compared as pairs: see delivery-search.sql.ts. */
export const selectNewestDeliveries = statement(
  'select_newest_deliveries',
  `SELECT d.id, d.state, d.entity, d.attempts, d.created_at AS "createdAt", d.settled_at AS "settledAt", e.kind, e.action,
     a.outcome, a.status, a.why, a.duration_ms AS "durationMs"
   FROM (
     SELECT id, event_id, state, entity, attempts, created_at, settled_at FROM deliveries
     WHERE (owner_id, place) >= ($1, 0) AND (owner_id, place) < ($1, $2) ORDER BY owner_id DESC, place DESC LIMIT $3) d
   CROSS JOIN LATERAL (SELECT kind, action FROM events WHERE id = d.event_id OFFSET 0) e
   LEFT JOIN LATERAL (
     SELECT outcome, status, why, duration_ms FROM attempts WHERE delivery_id = d.id AND day >= d.id / 10000000000 ORDER BY number DESC LIMIT 1) a ON true
   ORDER BY d.id DESC`,
)
