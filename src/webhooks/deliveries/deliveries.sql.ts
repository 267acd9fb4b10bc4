/**
 * A delivery has no row of its own: what became of it is read from the log and from what the engine wrote down about its webhook. $1 is the part and $2 the feed,
 * which a webhook's branch names.
 */
import { statement } from '../../database/database.ts'
import { answerOf } from '../engine/answers.sql.ts'
import { dayOfSeq, filterAt } from '../events/branch-logs.sql.ts'

/** Of an entry `l` of the log. */
export const entryColumns =
  'l.seq, l.day, l.simulated, l.webhook_id AS aim, l.created_at, l.uid, l.kind, l.action, l.entity'

const ofDelivery = (row: string) =>
  `${row}.part = $1 AND ${row}.webhook_id = c.webhook_id AND ${row}.seq = c.seq AND ${row}.day = c.day`

/** Every round of an entry `c`: what happened, what was asked for again, and what its attempts say. */
const rounds = `LATERAL (
     SELECT known.round, coalesce(tried.attempts, 0) AS attempts, tried.begun_at, tried.ended, tried.ended_at, tried.reason, tried.canceled_by,
       g.due_at, g.written_at AS asked_at
     FROM (
       SELECT 0 AS round
       UNION SELECT o.round FROM outcomes o WHERE ${ofDelivery('o')}
       UNION SELECT a.round FROM agains a WHERE a.part = $1 AND a.webhook_id = c.webhook_id AND a.seq = c.seq) known
     LEFT JOIN LATERAL (
       SELECT max(o.attempt) AS attempts, min(o.at) FILTER (WHERE o.attempt > 0) AS begun_at, max(o.state) FILTER (WHERE o.state <> 'retrying') AS ended,
         max(o.at + o.duration_ms * interval '1 millisecond') FILTER (WHERE o.state <> 'retrying') AS ended_at, max(o.reason) AS reason, max(o.canceled_by) AS canceled_by
       FROM outcomes o WHERE ${ofDelivery('o')} AND o.round = known.round) tried ON true
     LEFT JOIN LATERAL (
       SELECT due_at, written_at FROM agains WHERE part = $1 AND webhook_id = c.webhook_id AND seq = c.seq AND round = known.round OFFSET 0) g ON true)`

/**
 * The deliveries of candidates (webhook_id, and the columns of an entry), with what became of each. A final outcome counts before whatever was passed;
 * of an entity that fails the first unfinished one is tried, and the others wait behind it.
 */
export const deliveriesOf = (
  candidates: string,
) => `SELECT c.webhook_id, c.seq, r.round, c.day, c.entity, c.uid, c.kind, c.action, c.simulated, r.attempts,
     c.created_at AS published_at, CASE r.round WHEN 0 THEN c.created_at ELSE coalesce(r.begun_at, r.asked_at, c.created_at) END AS created_at,
     CASE WHEN r.ended IS NOT NULL THEN r.ended WHEN r.due_at IS NOT NULL THEN 'waiting' WHEN p.state IS NOT NULL THEN p.state
       WHEN r.round = 0 AND x.seq < c.seq THEN 'blocked' ELSE 'waiting' END AS state,
     greatest(coalesce(r.due_at, CASE WHEN x.seq = c.seq THEN x.due_at END, c.created_at),
       (SELECT k.hold_until FROM cursors k WHERE k.part = $1 AND k.webhook_id = c.webhook_id)) AS due_at,
     CASE WHEN r.ended IS NOT NULL THEN r.ended_at WHEN r.due_at IS NULL THEN p.passed_at END AS settled_at,
     CASE WHEN r.ended IS NOT NULL THEN r.reason WHEN r.due_at IS NULL THEN p.reason END AS reason,
     CASE WHEN r.ended IS NOT NULL THEN r.canceled_by WHEN r.due_at IS NULL THEN p.passed_by END AS canceled_by
   FROM (${candidates}) c
   CROSS JOIN ${filterAt('c.webhook_id', 'c.seq')} f
   CROSS JOIN ${rounds} r
   LEFT JOIN LATERAL (
     SELECT state, reason, passed_by, passed_at FROM passes WHERE part = $1 AND webhook_id = c.webhook_id AND upto >= c.seq ORDER BY upto LIMIT 1) p ON true
   LEFT JOIN LATERAL (
     SELECT seq, due_at FROM exceptions WHERE part = $1 AND webhook_id = c.webhook_id AND entity = c.entity OFFSET 0) x ON true
   WHERE CASE WHEN c.aim IS NULL THEN c.simulated OR wants_event(f.kinds, f.actions, c.kind, c.action) ELSE c.aim = c.webhook_id END`

/** Of a row `d` of those. */
export const deliveryColumns = `d.webhook_id AS "webhookId", d.seq, d.round, d.day, d.state, d.entity, d.due_at AS "dueAt", d.attempts,
  d.created_at AS "createdAt", d.settled_at AS "settledAt", d.reason, d.canceled_by AS "canceledBy", d.uid, d.kind, d.action`

const entryNamed = `SELECT ${entryColumns} FROM entry_of($1, $2, $4, ${dayOfSeq('$4')}) l`

/** One ($3 webhook, $4 number, $5 round), with its body. */
export const selectDelivery = statement(
  'select_delivery',
  `SELECT ${deliveryColumns}, d.simulated, (
     SELECT l.body FROM entry_of($1, $2, d.seq, d.day) l) AS body
   FROM (${deliveriesOf(`SELECT $3::bigint AS webhook_id, entry.* FROM (${entryNamed}) entry`)}) d WHERE d.round = $5`,
)

const attemptColumns =
  'o.attempt AS number, o.at, o.duration_ms AS "durationMs", o.outcome, o.status, o.why, said.detail, said.response'

/** $2 webhook, $3 number, $4 round, $5 its day. What an attempt was answered leaves earlier than the attempt. */
export const selectAttempts = statement(
  'select_attempts',
  `SELECT ${attemptColumns} FROM outcomes o ${answerOf('o')}
   WHERE o.part = $1 AND o.webhook_id = $2 AND o.seq = $3 AND o.round = $4 AND o.day = $5 AND o.attempt > 0 ORDER BY o.attempt`,
)

/** The last of each ($2 webhooks, $3 numbers, $4 rounds, $5 days). */
export const selectLastAttempts = statement(
  'select_last_attempts',
  `SELECT d.webhook_id AS "webhookId", d.seq, d.round, last.* FROM unnest($2::bigint[], $3::bigint[], $4::int[], $5::int[]) AS d (webhook_id, seq, round, day)
   CROSS JOIN LATERAL (
     SELECT ${attemptColumns} FROM outcomes o ${answerOf('o')}
     WHERE o.part = $1 AND o.webhook_id = d.webhook_id AND o.seq = d.seq AND o.round = d.round AND o.day = d.day AND o.attempt > 0 ORDER BY o.attempt DESC LIMIT 1) last`,
)

/** The first attempt of a delivery after so many ($6). */
export const selectAttemptAfter = statement(
  'select_attempt_after',
  `SELECT ${attemptColumns} FROM outcomes o ${answerOf('o')}
   WHERE o.part = $1 AND o.webhook_id = $3 AND o.seq = $4 AND o.round = $5 AND o.day = ${dayOfSeq('$4')} AND o.attempt > $6 ORDER BY o.attempt LIMIT 1`,
)

/** Of one entry ($3 its number, $4 its day) for each of these webhooks ($5), every round of it. */
export const selectDeliveriesOfEntry = statement(
  'select_deliveries_of_entry',
  `SELECT ${deliveryColumns} FROM (${deliveriesOf(`SELECT w.id AS webhook_id, entry.* FROM unnest($5::bigint[]) AS w (id) CROSS JOIN (
     SELECT ${entryColumns} FROM entry_of($1, $2, $3, $4) l) entry`)}) d ORDER BY d.webhook_id, d.round`,
)

/** What goes before the others of an entity ($2 webhooks, $3 entities): the first unfinished one of it, which is tried. */
export const selectAhead = statement(
  'select_ahead',
  `SELECT x.webhook_id AS "webhookId", x.entity, x.seq, x.attempts, x.due_at AS "dueAt" FROM unnest($2::bigint[], $3::text[]) AS b (webhook_id, entity)
   CROSS JOIN LATERAL (SELECT * FROM exceptions WHERE part = $1 AND webhook_id = b.webhook_id AND entity = b.entity OFFSET 0) x`,
)
