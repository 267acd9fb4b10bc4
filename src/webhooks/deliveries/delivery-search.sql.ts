/**
 * Newest first, from a place down to a number. Of whatever is looked through, so many rows at most, so that
 * no search reads a large table to its end.
 */
import { bool, instant, int, list, orNull, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { dayOfSeq, entryAt } from '../events/branch-logs.sql.ts'
import { deliveriesOf, deliveryColumns, deliveryRow, entryColumns } from './deliveries.sql.ts'

const sought = {
  part: int,
  feed: int,
  webhookIds: list(int),
  highest: int,
  lowest: int,
  /** How many are looked at. */
  room: int,
  state: orNull(text),
  isTried: orNull(bool),
  kind: orNull(text),
  entity: orNull(text),
  from: orNull(instant),
  to: orNull(instant),
  /** Before which it goes on within the highest number. */
  webhookId: int,
  round: int,
  wanted: int,
}

/** Without a delivery there is one row, which says how far the search came. */
const foundRow = {
  reached: orNull(int),
  webhookId: orNull(int),
  seq: orNull(int),
  round: orNull(int),
  day: orNull(int),
  state: orNull(deliveryRow.state),
  entity: orNull(text),
  dueAt: orNull(instant),
  attempts: orNull(int),
  createdAt: orNull(instant),
  settledAt: orNull(instant),
  reason: orNull(text),
  canceledBy: orNull(text),
  uid: orNull(uuid),
  kind: orNull(deliveryRow.kind),
  action: orNull(text),
}

/** `reached`: down to this number everything was looked at; null when there is no more. */
const search = (name: string, looked: string, reached: string) =>
  statement({
    name,
    takes: sought,
    gives: foundRow,
    text: `WITH looked AS MATERIALIZED (${looked}),
     reached AS MATERIALIZED (${reached}),
     page AS MATERIALIZED (
       SELECT d.* FROM (${deliveriesOf('SELECT * FROM looked')}) d
       WHERE d.seq >= coalesce((SELECT seq FROM reached), 0)
         AND (d.seq, d.webhook_id, d.round) < (:highest::bigint, :webhookId::bigint, :round::int)
         AND CASE :state::text WHEN 'unfinished' THEN d.settled_at IS NULL
           ELSE coalesce(d.state = :state, true) END
         AND (:isTried::boolean IS NULL OR (d.attempts > 0) = :isTried)
         AND (:kind::text IS NULL OR d.kind = :kind) AND (:entity::text IS NULL OR d.entity = :entity)
         AND (:from::timestamptz IS NULL OR d.published_at >= :from)
           AND (:to::timestamptz IS NULL OR d.published_at < :to)
       ORDER BY d.seq DESC, d.webhook_id DESC, d.round DESC LIMIT :wanted)
     SELECT reached.seq AS reached, ${deliveryColumns} FROM reached LEFT JOIN page d ON true
       ORDER BY d.seq DESC, d.webhook_id DESC, d.round DESC`,
  })

const ofFeed = 'l.part = :part AND l.feed = :feed'
const upToDay = `l.day <= ${dayOfSeq(':highest')}`

/** Along one order of the log, for all webhooks together. */
const along = (name: string, chosen: string, order: string) =>
  search(
    name,
    `SELECT w.id AS webhook_id, entry.* FROM (
       SELECT ${entryColumns} FROM log l WHERE ${ofFeed} AND ${chosen} AND ${upToDay} ORDER BY ${order}
         LIMIT :room) entry
     CROSS JOIN unnest(:webhookIds::bigint[]) AS w (id)`,
    'SELECT CASE WHEN count(DISTINCT seq) = :room THEN min(seq) END AS seq FROM looked',
  )

export const searchAll = along('search_deliveries', 'l.seq <= :highest AND l.seq >= :lowest', 'l.seq DESC')

/** Rows are compared as pairs, because only the one index has that order. */
export const searchKind = along(
  'search_deliveries_of_kind',
  '(l.kind, l.seq) <= (:kind, :highest) AND (l.kind, l.seq) >= (:kind, :lowest)',
  'l.kind DESC, l.seq DESC',
)
export const searchEntity = along(
  'search_deliveries_of_entity',
  '(l.entity, l.seq) <= (:entity, :highest) AND (l.entity, l.seq) >= (:entity, :lowest)',
  'l.entity DESC, l.seq DESC',
)

const byWebhook = `SELECT max(lowest) AS seq FROM (
       SELECT min(seq) AS lowest FROM looked GROUP BY webhook_id HAVING count(*) = :room) cut`

/** Of each webhook so many (`room` at most), from where they are found with their days, and their entries. */
const ofEach = (name: string, found: string) =>
  search(
    name,
    `SELECT place.webhook_id, entry.* FROM cursors k CROSS JOIN LATERAL (${found}) place
     CROSS JOIN LATERAL (SELECT ${entryColumns} FROM ${entryAt(':feed', 'place.seq', 'place.day')} l) entry
     WHERE k.part = :part AND k.webhook_id = ANY (:webhookIds::bigint[])`,
    byWebhook,
  )

/** By the index of those that were given up. */
export const searchExhausted = ofEach(
  'search_exhausted_deliveries',
  `SELECT o.webhook_id, o.seq, o.day FROM outcomes o
     WHERE o.part = :part AND o.webhook_id = k.webhook_id AND o.seq <= :highest AND o.seq >= :lowest
       AND o.state = 'exhausted' AND NOT EXISTS (
       SELECT FROM outcomes later WHERE later.part = :part AND later.webhook_id = o.webhook_id
         AND later.seq = o.seq AND later.day = o.day AND later.round > o.round
         AND later.state = 'exhausted' OFFSET 0)
     ORDER BY o.seq DESC LIMIT :room`,
)

/** What is above a webhook's position, what waits for an entity that fails, and what was asked for again. */
export const searchUnfinished = ofEach(
  'search_unfinished_deliveries',
  `SELECT k.webhook_id, u.seq, u.day FROM (
     (SELECT l.seq, l.day FROM log l WHERE ${ofFeed} AND l.seq > k.position AND l.seq <= :highest
       AND l.seq >= :lowest
       AND ${upToDay} ORDER BY l.seq DESC LIMIT :room)
     UNION
     (SELECT behind.seq, behind.day FROM exceptions x CROSS JOIN LATERAL (
        SELECT l.seq, l.day FROM log l
          WHERE ${ofFeed} AND (l.entity, l.seq) >= (x.entity, greatest(x.seq, :lowest))
          AND (l.entity, l.seq) <= (x.entity, least(k.position, :highest))
          AND l.day >= x.day ORDER BY l.entity DESC, l.seq DESC LIMIT :room) behind
      WHERE x.part = :part AND x.webhook_id = k.webhook_id ORDER BY behind.seq DESC LIMIT :room)
     UNION
     (SELECT a.seq, a.day FROM agains a WHERE a.part = :part AND a.webhook_id = k.webhook_id
       AND a.seq <= :highest
       AND a.seq >= :lowest ORDER BY a.seq DESC LIMIT :room)) u
   ORDER BY u.seq DESC LIMIT :room`,
)

/** The highest number of which anything may have been skipped or have expired, of these webhooks. */
export const selectPassed = statement({
  name: 'select_highest_passed',
  takes: { part: int, webhookIds: list(int), highest: int },
  gives: { seq: orNull(int) },
  text: `SELECT max(greatest(
     (SELECT least(max(s.upto), :highest::bigint) FROM passes s WHERE s.part = :part AND s.webhook_id = w.id
       HAVING count(*) > 0),
     (SELECT o.seq FROM outcomes o WHERE o.part = :part AND o.webhook_id = w.id AND o.seq <= :highest
       AND o.state = 'canceled' ORDER BY o.seq DESC LIMIT 1))) AS seq
   FROM unnest(:webhookIds::bigint[]) AS w (id)`,
})
