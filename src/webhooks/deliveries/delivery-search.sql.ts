/**
 * Newest first, from a place down to a number. Of whatever is looked through, so many rows at most, so that no search reads a large table to its end. $1 part,
 * $2 feed, $3 webhooks, $4 the highest number, $5 the lowest, $6 how many are looked at; then what is sought: $7 state, $8 kind, $9 entity, $10 and $11 from when
 * to when, $12 and $13 the webhook and the round before which it goes on within number $4, $14 how many are wanted.
 */
import { type Statement, statement } from '../../database/database.ts'
import { dayOfSeq } from '../events/branch-logs.sql.ts'
import { deliveriesOf, deliveryColumns, entryColumns } from './deliveries.sql.ts'

/** `reached`: down to this number everything was looked at; null when there is no more. */
function search(name: string, looked: string, reached: string): Statement {
  return statement(
    name,
    `WITH looked AS MATERIALIZED (${looked}),
     reached AS MATERIALIZED (${reached}),
     page AS MATERIALIZED (
       SELECT d.* FROM (${deliveriesOf('SELECT * FROM looked')}) d
       WHERE d.seq >= coalesce((SELECT seq FROM reached), 0) AND (d.seq, d.webhook_id, d.round) < ($4::bigint, $12::bigint, $13::int)
         AND CASE $7::text WHEN 'unfinished' THEN d.settled_at IS NULL ELSE coalesce(d.state = $7, true) END
         AND ($8::text IS NULL OR d.kind = $8) AND ($9::text IS NULL OR d.entity = $9)
         AND ($10::timestamptz IS NULL OR d.published_at >= $10) AND ($11::timestamptz IS NULL OR d.published_at < $11)
       ORDER BY d.seq DESC, d.webhook_id DESC, d.round DESC LIMIT $14)
     SELECT reached.seq AS reached, ${deliveryColumns} FROM reached LEFT JOIN page d ON true ORDER BY d.seq DESC, d.webhook_id DESC, d.round DESC`,
  )
}

const ofFeed = 'l.part = $1 AND l.feed = $2'
const upToDay = `l.day <= ${dayOfSeq('$4')}`

/** Along one order of the log, for all webhooks together. */
const along = (name: string, chosen: string, order: string) =>
  search(
    name,
    `SELECT w.id AS webhook_id, entry.* FROM (
       SELECT ${entryColumns} FROM log l WHERE ${ofFeed} AND ${chosen} AND ${upToDay} ORDER BY ${order} LIMIT $6) entry
     CROSS JOIN unnest($3::bigint[]) AS w (id)`,
    'SELECT CASE WHEN count(DISTINCT seq) = $6 THEN min(seq) END AS seq FROM looked',
  )

export const searchAll = along('search_deliveries', 'l.seq <= $4 AND l.seq >= $5', 'l.seq DESC')

/** Rows are compared as pairs, because only the one index has that order. */
export const searchKind = along(
  'search_deliveries_of_kind',
  '(l.kind, l.seq) <= ($8, $4) AND (l.kind, l.seq) >= ($8, $5)',
  'l.kind DESC, l.seq DESC',
)
export const searchEntity = along(
  'search_deliveries_of_entity',
  '(l.entity, l.seq) <= ($9, $4) AND (l.entity, l.seq) >= ($9, $5)',
  'l.entity DESC, l.seq DESC',
)

const byWebhook = `SELECT max(lowest) AS seq FROM (
       SELECT min(seq) AS lowest FROM looked GROUP BY webhook_id HAVING count(*) = $6) cut`

/** Of each webhook so many, from where they are found ($6 at most, with their days), with their entries. */
const ofEach = (name: string, found: string) =>
  search(
    name,
    `SELECT place.webhook_id, entry.* FROM cursors k CROSS JOIN LATERAL (${found}) place
     CROSS JOIN LATERAL (SELECT ${entryColumns} FROM entry_of($1, $2, place.seq, place.day) l) entry
     WHERE k.part = $1 AND k.webhook_id = ANY ($3::bigint[])`,
    byWebhook,
  )

/** By the index of those that were given up. */
export const searchExhausted = ofEach(
  'search_exhausted_deliveries',
  `SELECT o.webhook_id, o.seq, o.day FROM outcomes o
     WHERE o.part = $1 AND o.webhook_id = k.webhook_id AND o.seq <= $4 AND o.seq >= $5 AND o.state = 'exhausted' AND NOT EXISTS (
       SELECT FROM outcomes later WHERE later.part = $1 AND later.webhook_id = o.webhook_id AND later.seq = o.seq AND later.day = o.day AND later.round > o.round
         AND later.state = 'exhausted' OFFSET 0)
     ORDER BY o.seq DESC LIMIT $6`,
)

/** What is above a webhook's position, what waits for an entity that fails, and what was asked for again. */
export const searchUnfinished = ofEach(
  'search_unfinished_deliveries',
  `SELECT k.webhook_id, u.seq, u.day FROM (
     (SELECT l.seq, l.day FROM log l WHERE ${ofFeed} AND l.seq > k.position AND l.seq <= $4 AND l.seq >= $5 AND ${upToDay} ORDER BY l.seq DESC LIMIT $6)
     UNION
     (SELECT behind.seq, behind.day FROM exceptions x CROSS JOIN LATERAL (
        SELECT l.seq, l.day FROM log l WHERE ${ofFeed} AND (l.entity, l.seq) >= (x.entity, greatest(x.seq, $5)) AND (l.entity, l.seq) <= (x.entity, least(k.position, $4))
          AND l.day >= x.day ORDER BY l.entity DESC, l.seq DESC LIMIT $6) behind
      WHERE x.part = $1 AND x.webhook_id = k.webhook_id ORDER BY behind.seq DESC LIMIT $6)
     UNION
     (SELECT a.seq, a.day FROM agains a WHERE a.part = $1 AND a.webhook_id = k.webhook_id AND a.seq <= $4 AND a.seq >= $5 ORDER BY a.seq DESC LIMIT $6)) u
   ORDER BY u.seq DESC LIMIT $6`,
)

/** The highest number up to $3 of which anything may have been skipped or have expired, of these webhooks ($2). */
export const selectPassed = statement(
  'select_highest_passed',
  `SELECT max(greatest(
     (SELECT least(max(s.upto), $3::bigint) FROM passes s WHERE s.part = $1 AND s.webhook_id = w.id HAVING count(*) > 0),
     (SELECT o.seq FROM outcomes o WHERE o.part = $1 AND o.webhook_id = w.id AND o.seq <= $3 AND o.state = 'canceled' ORDER BY o.seq DESC LIMIT 1))) AS seq
   FROM unnest($2::bigint[]) AS w (id)`,
)
