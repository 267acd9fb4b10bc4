/**
 * A delivery has no row of its own: what became of it is read from the log and from what the engine wrote
 * down about its webhook. A webhook's branch names the part and the feed.
 */
import { bool, instant, int, list, oneOf, orNull, sure, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { answerOf } from '../engine/response-texts.sql.ts'
import { dayOfSeq, entryAt, filterAt } from '../events/branch-logs.sql.ts'
import { kinds } from '../events/kind.ts'

/** Of an entry `l` of the log. */
export const entryColumns =
  'l.seq, l.day, l.simulated, l.webhook_id AS aim, l.created_at, l.uid, l.kind, l.action, l.entity'

const ofDelivery = (row: string) =>
  `${row}.part = :part AND ${row}.webhook_id = c.webhook_id AND ${row}.seq = c.seq AND ${row}.day = c.day`

/** Every round of an entry `c`: what happened, what was asked for again, and what its attempts say. */
const rounds = `LATERAL (
     SELECT known.round, coalesce(tried.attempts, 0) AS attempts, tried.begun_at, tried.ended, tried.ended_at,
       tried.reason, tried.canceled_by,
       g.due_at, g.written_at AS asked_at
     FROM (
       SELECT 0 AS round
       UNION SELECT o.round FROM outcomes o WHERE ${ofDelivery('o')}
       UNION SELECT a.round FROM agains a WHERE a.part = :part AND a.webhook_id = c.webhook_id
         AND a.seq = c.seq) known
     LEFT JOIN LATERAL (
       SELECT max(o.attempt) AS attempts, min(o.at) FILTER (WHERE o.attempt > 0) AS begun_at,
         max(o.state) FILTER (WHERE o.state <> 'retrying') AS ended,
         max(o.at + o.duration_ms * interval '1 millisecond') FILTER (WHERE o.state <> 'retrying') AS
           ended_at, max(o.reason) AS reason, max(o.canceled_by) AS canceled_by
       FROM outcomes o WHERE ${ofDelivery('o')} AND o.round = known.round) tried ON true
     LEFT JOIN LATERAL (
       SELECT due_at, written_at FROM agains WHERE part = :part AND webhook_id = c.webhook_id AND seq = c.seq
         AND round = known.round OFFSET 0) g ON true)`

/**
 * The deliveries of candidates (webhook_id, and the columns of an entry), with what became of each. A final
 * outcome counts before whatever was passed; of an entity that fails the first unfinished one is tried, and
 * the others wait behind it.
 */
export const deliveriesOf = (
  candidates: string,
) => `SELECT c.webhook_id, c.seq, r.round, c.day, c.entity, c.uid, c.kind, c.action, c.simulated, r.attempts,
     c.created_at AS published_at, CASE r.round WHEN 0
       THEN c.created_at ELSE coalesce(r.begun_at, r.asked_at, c.created_at) END AS created_at,
     CASE WHEN r.ended IS NOT NULL THEN r.ended WHEN r.due_at IS NOT NULL
       THEN 'waiting' WHEN p.state IS NOT NULL THEN p.state
       WHEN r.round = 0 AND x.seq < c.seq THEN 'blocked' ELSE 'waiting' END AS state,
     greatest(coalesce(r.due_at, CASE WHEN x.seq = c.seq THEN x.due_at END, c.created_at),
       (SELECT k.hold_until FROM cursors k WHERE k.part = :part AND k.webhook_id = c.webhook_id)) AS due_at,
     CASE WHEN r.ended IS NOT NULL THEN r.ended_at WHEN r.due_at IS NULL THEN p.passed_at END AS settled_at,
     CASE WHEN r.ended IS NOT NULL THEN r.reason WHEN r.due_at IS NULL THEN p.reason END AS reason,
     CASE WHEN r.ended IS NOT NULL THEN r.canceled_by WHEN r.due_at IS NULL
       THEN p.passed_by END AS canceled_by
   FROM (${candidates}) c
   CROSS JOIN ${filterAt('c.webhook_id', 'c.seq')} f
   CROSS JOIN ${rounds} r
   LEFT JOIN LATERAL (
     SELECT state, reason, passed_by, passed_at FROM passes WHERE part = :part AND webhook_id = c.webhook_id
       AND upto >= c.seq ORDER BY upto LIMIT 1) p ON true
   LEFT JOIN LATERAL (
     SELECT seq, due_at FROM exceptions WHERE part = :part AND webhook_id = c.webhook_id
       AND entity = c.entity OFFSET 0) x ON true
   WHERE CASE WHEN c.aim IS NULL THEN c.simulated OR wants_event(f.kinds, f.actions, c.kind, c.action)
     ELSE c.aim = c.webhook_id END`

/** Of a row `d` of those. */
export const deliveryColumns = `d.webhook_id AS "webhookId", d.seq, d.round, d.day, d.state, d.entity,
  d.due_at AS "dueAt", d.attempts,
  d.created_at AS "createdAt", d.settled_at AS "settledAt", d.reason, d.canceled_by AS "canceledBy", d.uid,
    d.kind, d.action`

export const deliveryRow = {
  webhookId: int,
  seq: int,
  round: int,
  day: int,
  state: oneOf('blocked', 'waiting', 'delivered', 'exhausted', 'canceled', 'expired'),
  entity: text,
  dueAt: instant,
  attempts: int,
  createdAt: instant,
  settledAt: orNull(instant),
  reason: orNull(text),
  canceledBy: orNull(text),
  uid: uuid,
  kind: oneOf(...kinds),
  action: text,
}

const entryNamed = `SELECT ${entryColumns} FROM ${entryAt(':feed', ':seq', dayOfSeq(':seq'))} l`

/** One, with its body. */
export const selectDelivery = statement({
  name: 'select_delivery',
  takes: { part: int, feed: int, webhookId: int, seq: int, round: int },
  gives: { ...deliveryRow, simulated: bool, body: text },
  text: `SELECT ${deliveryColumns}, d.simulated, (
     SELECT l.body FROM ${entryAt(':feed', 'd.seq', 'd.day')} l) AS body
   FROM (${deliveriesOf(`SELECT :webhookId::bigint AS webhook_id, entry.* FROM (${entryNamed}) entry`)}) d
     WHERE d.round = :round`,
})

const attemptColumns = `o.attempt AS number, o.at, o.duration_ms AS "durationMs", o.outcome, o.status, o.why,
  said.detail,
    said.response`

const attemptRow = {
  number: int,
  at: instant,
  durationMs: int,
  outcome: sure(oneOf('refused', 'accepted', 'unreachable')),
  status: orNull(int),
  why: orNull(text),
  detail: orNull(text),
  response: orNull(text),
}

/** What an attempt was answered leaves earlier than the attempt. */
export const selectAttempts = statement({
  name: 'select_attempts',
  takes: { part: int, webhookId: int, seq: int, round: int, day: int },
  gives: attemptRow,
  text: `SELECT ${attemptColumns} FROM outcomes o ${answerOf('o')}
   WHERE o.part = :part AND o.webhook_id = :webhookId AND o.seq = :seq AND o.round = :round AND o.day = :day
     AND o.attempt > 0 ORDER BY o.attempt`,
})

/** The last of each. */
export const selectLastAttempts = statement({
  name: 'select_last_attempts',
  takes: { part: int, webhookIds: list(int), seqs: list(int), rounds: list(int), days: list(int) },
  gives: { ...attemptRow, webhookId: int, seq: int, round: int },
  text: `SELECT d.webhook_id AS "webhookId", d.seq, d.round, last.*
    FROM unnest(:webhookIds::bigint[], :seqs::bigint[], :rounds::int[], :days::int[])
      AS d (webhook_id, seq, round, day)
   CROSS JOIN LATERAL (
     SELECT ${attemptColumns} FROM outcomes o ${answerOf('o')}
     WHERE o.part = :part AND o.webhook_id = d.webhook_id AND o.seq = d.seq AND o.round = d.round
       AND o.day = d.day AND o.attempt > 0 ORDER BY o.attempt DESC LIMIT 1) last`,
})

/** The first attempt of a delivery after so many. */
export const selectAttemptAfter = statement({
  name: 'select_attempt_after',
  takes: { part: int, feed: int, webhookId: int, seq: int, round: int, attempts: int },
  gives: attemptRow,
  text: `SELECT ${attemptColumns} FROM outcomes o ${answerOf('o')}
   WHERE o.part = :part AND o.webhook_id = :webhookId AND o.seq = :seq AND o.round = :round
     AND o.day = ${dayOfSeq(':seq')} AND o.attempt > :attempts ORDER BY o.attempt LIMIT 1`,
})

/** Of one entry for each of these webhooks, every round of it. */
export const selectDeliveriesOfEntry = statement({
  name: 'select_deliveries_of_entry',
  takes: { part: int, feed: int, seq: int, day: int, webhookIds: list(int) },
  gives: deliveryRow,
  text: `SELECT ${deliveryColumns} FROM (${deliveriesOf(`SELECT w.id AS webhook_id, entry.*
    FROM unnest(:webhookIds::bigint[]) AS w (id) CROSS JOIN (
     SELECT ${entryColumns} FROM ${entryAt(':feed', ':seq', ':day')} l) entry`)}) d
   ORDER BY d.webhook_id, d.round`,
})

/** What goes before the others of an entity: the first unfinished one of it, which is tried. */
export const selectAhead = statement({
  name: 'select_ahead',
  takes: { part: int, webhookIds: list(int), entities: list(text) },
  gives: { webhookId: int, entity: text, seq: int, attempts: int, dueAt: instant },
  text: `SELECT x.webhook_id AS "webhookId", x.entity, x.seq, x.attempts, x.due_at AS "dueAt"
    FROM unnest(:webhookIds::bigint[], :entities::text[]) AS b (webhook_id, entity)
   CROSS JOIN LATERAL (SELECT * FROM exceptions WHERE part = :part AND webhook_id = b.webhook_id
     AND entity = b.entity OFFSET 0) x`,
})
