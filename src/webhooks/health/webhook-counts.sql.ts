import { instant, int, list, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { mayHaveWork, waiting } from '../engine/waiting.sql.ts'

const addedUp = (column: 'answered' | 'delivered') =>
  `ARRAY(SELECT coalesce(was, 0) + coalesce(more, 0) FROM unnest(c.${column}, excluded.${column})
    WITH ORDINALITY AS cell (was, more, place) ORDER BY place)`

/**
 * `conflicting` rows of the same webhook and time become one. In one order, so that nodes that write at the
 * same moment wait for each other and never in a circle.
 */
const adding = (
  rows: string,
) => `INSERT INTO webhook_counts AS c (webhook_id, starts_at, minutes, accepted, refused, unreachable,
  waiting, blocked, answered, delivered)
   ${rows} ORDER BY 1, 2, 3
   ON CONFLICT (webhook_id, starts_at, minutes) DO UPDATE SET
     accepted = c.accepted + excluded.accepted, refused = c.refused + excluded.refused,
       unreachable = c.unreachable + excluded.unreachable,
     waiting = greatest(c.waiting, excluded.waiting),
     blocked = CASE WHEN excluded.waiting > c.waiting THEN excluded.blocked ELSE c.blocked END,
     answered = ${addedUp('answered')}, delivered = ${addedUp('delivered')}`

/** What a process has counted since it last wrote. */
export const addCounts = statement({
  name: 'add_webhook_counts',
  takes: {
    webhookIds: list(int),
    startsAt: list(instant),
    accepted: list(int),
    refused: list(int),
    unreachable: list(int),
    /** Cells, each as PostgreSQL prints an array. */
    answered: list(text),
    delivered: list(text),
  },
  text: adding(`SELECT webhook_id, starts_at, 5, accepted, refused, unreachable, 0, 0, answered::int[],
    delivered::int[]
   FROM unnest(:webhookIds::bigint[], :startsAt::timestamptz[], :accepted::int[], :refused::int[],
     :unreachable::int[], :answered::text[], :delivered::text[])
     AS noted (webhook_id, starts_at, accepted, refused, unreachable, answered, delivered)`),
})

/** How much waits at this moment, of each webhook of a part that has work. Counts stop at `most`. */
export const selectWaiting = statement({
  name: 'select_waiting',
  takes: { part: int, most: int },
  gives: { webhookId: int, waiting: int, blocked: int },
  text: `SELECT k.webhook_id AS "webhookId", waiting.deliveries AS waiting,
    least(waiting.blocked, waiting.deliveries) AS blocked
   FROM cursors k CROSS JOIN ${waiting} waiting WHERE k.part = :part AND ${mayHaveWork}
     AND waiting.deliveries > 0`,
})

/** Of five minutes: what waits, and what of it waits behind another. */
export const addDepths = statement({
  name: 'add_webhook_depths',
  takes: { startsAt: instant, webhookIds: list(int), waiting: list(int), blocked: list(int) },
  text: adding(`SELECT webhook_id, :startsAt::timestamptz, 5, 0, 0, 0, waiting, blocked, '{}'::int[],
     '{}'::int[]
   FROM unnest(:webhookIds::bigint[], :waiting::int[], :blocked::int[]) AS seen (webhook_id, waiting,
     blocked)`),
})

/**
 * Of what is older the minutes of an hour become one row; at most so many of them, and not those that another
 * node is at.
 */
export const thinCounts = statement({
  name: 'thin_webhook_counts',
  takes: { before: instant, most: int },
  gives: { webhookId: int },
  text: `WITH gone AS (
     DELETE FROM webhook_counts WHERE (webhook_id, starts_at, minutes) IN (
       SELECT webhook_id, starts_at, minutes FROM webhook_counts WHERE minutes = 5 AND starts_at < :before
         ORDER BY starts_at LIMIT :most FOR UPDATE SKIP LOCKED)
     RETURNING *),
   hours AS MATERIALIZED (
     SELECT date_trunc('hour', starts_at, 'UTC') AS hour, gone.* FROM gone),
   cells AS MATERIALIZED (
     SELECT webhook_id, hour, place, sum(answered) AS answered, sum(delivered) AS delivered FROM (
       SELECT h.webhook_id, h.hour, cell.* FROM hours h CROSS JOIN LATERAL unnest(h.answered, h.delivered)
         WITH ORDINALITY AS cell (answered, delivered, place)) each
     GROUP BY webhook_id, hour, place),
   arrays AS (
     SELECT webhook_id, hour, array_agg(coalesce(answered, 0)::int ORDER BY place) AS answered,
       array_agg(coalesce(delivered, 0)::int ORDER BY place) AS delivered
     FROM cells GROUP BY webhook_id, hour),
   totals AS (
     SELECT webhook_id, hour, sum(accepted)::int AS accepted, sum(refused)::int AS refused,
       sum(unreachable)::int AS unreachable, max(waiting) AS waiting,
       (array_agg(blocked ORDER BY waiting DESC))[1] AS blocked
     FROM hours GROUP BY webhook_id, hour),
   added AS (${adding(`SELECT webhook_id, hour, 60, accepted, refused, unreachable, waiting, blocked,
     coalesce(r.answered, '{}'), coalesce(r.delivered, '{}')
   FROM totals LEFT JOIN arrays r USING (webhook_id, hour)`)})
   SELECT webhook_id AS "webhookId" FROM gone`,
})

export const deleteOldCounts = statement({
  name: 'delete_old_webhook_counts',
  takes: { before: instant, most: int },
  gives: { webhookId: int },
  text: `DELETE FROM webhook_counts WHERE (webhook_id, starts_at, minutes) IN (
     SELECT webhook_id, starts_at, minutes FROM webhook_counts WHERE minutes = 60 AND starts_at < :before
       ORDER BY starts_at LIMIT :most) RETURNING webhook_id AS "webhookId"`,
})

export const selectCounts = statement({
  name: 'select_webhook_counts',
  takes: { webhookId: int, since: instant },
  gives: {
    startsAt: instant,
    accepted: int,
    refused: int,
    unreachable: int,
    waiting: int,
    blocked: int,
    answered: text,
    delivered: text,
  },
  text: `SELECT starts_at AS "startsAt", accepted, refused, unreachable, waiting, blocked, answered::text,
    delivered::text
   FROM webhook_counts WHERE webhook_id = :webhookId AND starts_at >= :since ORDER BY starts_at`,
})

/** Since when anything is counted. */
export const selectFirstCount = statement({
  name: 'select_first_webhook_count',
  gives: { at: orNull(instant) },
  text: 'SELECT min(starts_at) AS at FROM webhook_counts WHERE webhook_id = 0',
})
