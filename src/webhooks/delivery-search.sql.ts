import { type Statement, statement } from '../database/database.ts'
import { firstSince } from '../database/halving.ts'

const columns = 'id, webhook_id, event_id, state, entity, due_at, attempts, created_at, settled_at'

/**
 * Newest first, from an id down to an id. Of each webhook at most so many are looked at, whatever is sought, so that no search reads
 * a large table to its end. `reached` is how far down all of them were looked at together; 0 when there is no more.
 */
function search(name: string, chosen: string): Statement {
  return statement(
    name,
    `WITH looked AS MATERIALIZED (
       SELECT d.* FROM unnest($1::bigint[]) AS chosen (webhook_id) CROSS JOIN LATERAL (
         SELECT ${columns} FROM deliveries WHERE ${chosen} LIMIT $4) d),
     reached AS MATERIALIZED (
       SELECT coalesce(max(lowest), 0) AS id FROM (
         SELECT min(id) AS lowest FROM looked GROUP BY webhook_id HAVING count(*) = $4) cut),
     page AS MATERIALIZED (
       SELECT looked.* FROM looked WHERE id >= (SELECT id FROM reached)
         AND ($5::text IS NULL OR state = $5) AND ($6::text IS NULL OR starts_with(entity, $6)) AND ($7::text IS NULL OR entity = $7)
         AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
       ORDER BY id DESC LIMIT $10)
     SELECT reached.id AS reached, page.id, page.webhook_id, page.state, page.entity, page.due_at, page.attempts, page.created_at,
       page.settled_at, e.uid, e.kind, e.action
     FROM reached LEFT JOIN page ON true LEFT JOIN events e ON e.id = page.event_id ORDER BY page.id DESC`,
  )
}

/**
 * Rows are compared as pairs, because only the index of the webhook has that order: by `webhook_id = …` the planner may as well walk
 * down the primary key, past the deliveries of everybody else.
 */
const ofWebhook = '(webhook_id, id) < (chosen.webhook_id, $2) AND (webhook_id, id) >= (chosen.webhook_id, $3)'
const newestFirst = 'ORDER BY webhook_id DESC, id DESC'

export const searchAll = search('search_deliveries', `${ofWebhook} ${newestFirst}`)

/** By the index of those that were given up. */
export const searchExhausted = search(
  'search_exhausted_deliveries',
  `${ofWebhook} AND state = 'exhausted' ${newestFirst}`,
)

/** By the index of what is unfinished, which has another order: for a few of them. */
export const searchUnfinished = search(
  'search_unfinished_deliveries',
  `webhook_id = chosen.webhook_id AND id + 0 < $2 AND id + 0 >= $3 AND state IN ('blocked', 'waiting') ORDER BY id + 0 DESC`,
)

export const countUnfinished = statement(
  'count_unfinished_deliveries',
  `SELECT count(*) AS few FROM (
     SELECT FROM unnest($1::bigint[]) AS chosen (webhook_id) CROSS JOIN LATERAL (
       SELECT FROM deliveries WHERE webhook_id = chosen.webhook_id AND state IN ('blocked', 'waiting') LIMIT $2) d LIMIT $2) counted`,
)

export const selectFirstSince = firstSince('select_first_delivery_since', 'deliveries', 'created_at')
