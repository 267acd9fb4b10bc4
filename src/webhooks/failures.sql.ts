import { statement } from '../database/database.ts'

/**
 * The first and the last failure of lanes that the worker still holds. While they fail since the same moment the first stays; a new run begins anew.
 * Under the part's lock. $8: the day on which all of them were made.
 */
export const noteFailures = statement(
  'note_failures',
  `INSERT INTO webhook_failures AS known
     (webhook_id, since, first_delivery, first_number, first_day, last_delivery, last_number, last_day)
   SELECT t.webhook_id, t.since, t.first_delivery, t.first_number, $8::int, t.last_delivery, t.last_number, $8::int
   FROM unnest($1::bigint[], $2::uuid[], $3::timestamptz[], $4::bigint[], $5::int[], $6::bigint[], $7::int[])
     AS t (webhook_id, claim_id, since, first_delivery, first_number, last_delivery, last_number)
   JOIN lanes l ON l.webhook_id = t.webhook_id AND l.claim_id = t.claim_id
   ON CONFLICT (webhook_id) DO UPDATE SET since = excluded.since,
     first_delivery = CASE WHEN known.since = excluded.since THEN known.first_delivery ELSE excluded.first_delivery END,
     first_number = CASE WHEN known.since = excluded.since THEN known.first_number ELSE excluded.first_number END,
     first_day = CASE WHEN known.since = excluded.since THEN known.first_day ELSE excluded.first_day END,
     last_delivery = excluded.last_delivery, last_number = excluded.last_number, last_day = excluded.last_day`,
)

/** What a page shows of an answer; the whole is with the delivery. */
const excerpt = 1_000

/** Of `f`, a row of webhook_failures. */
export const failedAttempt = (which: 'first' | 'last') => `LEFT JOIN LATERAL (
     SELECT json_build_object('deliveryId', a.delivery_id, 'number', a.number, 'atMs', extract(epoch FROM a.at) * 1000, 'durationMs', a.duration_ms,
       'outcome', a.outcome, 'status', a.status, 'why', a.why, 'detail', a.detail, 'response', left(a.response, ${excerpt})) AS ${which}
     FROM attempts a WHERE a.day = f.${which}_day AND a.delivery_id = f.${which}_delivery AND a.number = f.${which}_number LIMIT 1) ${which} ON true`

/** Each by its place: the day names the partition, the delivery and the number the row. What has left with its day is null. */
export const selectFailures = statement(
  'select_webhook_failures',
  `SELECT f.webhook_id AS "webhookId", f.since, first.first, last.last
   FROM webhook_failures f ${failedAttempt('first')} ${failedAttempt('last')} WHERE f.webhook_id = ANY ($1::bigint[])`,
)
