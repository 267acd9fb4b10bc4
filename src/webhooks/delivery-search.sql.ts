import { type Statement, statement } from '../database/database.ts'
import { halvingOfDay } from './columns.sql.ts'
import { deliveryColumns } from './deliveries.sql.ts'

const columns =
  'id, webhook_id, event_id, state, entity, due_at, attempts, created_at, settled_at, repeats, reason, canceled_by'

/**
 * Newest first, from an id down to an id. Of each webhook at most so many are looked at, whatever is sought, so that no search reads
 * a large table to its end. `reached` is how far down all of them were looked at together; 0 when there is no more.
 */
function search(name: string, source: string, chosen: string): Statement {
  return statement(
    name,
    `WITH looked AS MATERIALIZED (
       SELECT d.* FROM unnest($1::bigint[]) AS chosen (webhook_id) CROSS JOIN LATERAL (
         SELECT ${columns} FROM ${source} WHERE ${chosen} LIMIT $4) d),
     reached AS MATERIALIZED (
       SELECT coalesce(max(lowest), 0) AS id FROM (
         SELECT min(id) AS lowest FROM looked GROUP BY webhook_id HAVING count(*) = $4) cut),
     page AS MATERIALIZED (
       SELECT looked.* FROM looked WHERE id >= (SELECT id FROM reached)
         AND ($5::text IS NULL OR state = $5) AND ($6::text IS NULL OR starts_with(entity, $6)) AND ($7::text IS NULL OR entity = $7)
         AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
       ORDER BY id DESC LIMIT $10)
     SELECT reached.id AS reached, ${deliveryColumns}
     FROM reached LEFT JOIN page d ON true LEFT JOIN LATERAL (SELECT * FROM events WHERE id = d.event_id OFFSET 0) e ON true ORDER BY d.id DESC`,
  )
}

/**
 * Rows are compared as pairs, because only the index of the webhook has that order: by `webhook_id = …` the planner may as well walk
 * down the primary key, past the deliveries of everybody else. For the same reason no bounds of the id alone say which days are asked:
 * a day that has nothing costs one descent.
 */
const ofWebhook = '(owner_id, place) < (chosen.webhook_id, $2) AND (owner_id, place) >= (chosen.webhook_id, $3)'
const newestFirst = 'ORDER BY owner_id DESC, place DESC'

export const searchAll = search('search_deliveries', 'deliveries', `${ofWebhook} ${newestFirst}`)

/** By the index of those that were given up. */
export const searchExhausted = search(
  'search_exhausted_deliveries',
  '(SELECT *, NULL::timestamptz AS due_at, webhook_id AS owner_id, id AS place FROM settled_deliveries) settled',
  `${ofWebhook} AND state = 'exhausted' ${newestFirst}`,
)

export const searchUnfinished = search(
  'search_unfinished_deliveries',
  '(SELECT *, NULL::text AS reason, NULL::text AS canceled_by FROM unfinished_deliveries) unfinished',
  `${ofWebhook} ${newestFirst}`,
)

/** Ids carry their day, and grow within it: where a moment lies is found by halving the day. */
export const selectFirstSince = statement(
  'select_first_delivery_since',
  `WITH RECURSIVE ${halvingOfDay('SELECT 0 AS place, $1::timestamptz AS at')}
   SELECT CASE WHEN EXISTS (SELECT FROM days WHERE day <= day_of($1)) THEN low ELSE 0 END AS id FROM step WHERE low >= high`,
)
