/** A replay of a webhook is named by its round. */
import { bool, instant, int, oneOf, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { dayOfSeq, entryAt, filterAt, isFor } from '../events/branch-logs.sql.ts'

const columns = `round AS id, webhook_id AS "webhookId", entity, from_at AS "fromAt", to_at AS "toAt", failed,
  since, state, total, sent AS done, pulled, created_at AS "createdAt",
  finished_at AS "finishedAt"`

const row = {
  id: int,
  webhookId: int,
  entity: orNull(text),
  fromAt: orNull(instant),
  toAt: orNull(instant),
  failed: bool,
  since: orNull(instant),
  state: oneOf('running', 'finished', 'canceled'),
  total: orNull(int),
  done: int,
  pulled: int,
  createdAt: instant,
  finishedAt: orNull(instant),
}

export const selectReplay = statement({
  name: 'select_replay',
  takes: { part: int, webhookId: int, round: int },
  gives: row,
  text: `SELECT ${columns} FROM replay_cursors
   WHERE part = :part AND webhook_id = :webhookId AND round = :round`,
})

export const selectReplays = statement({
  name: 'select_replays',
  takes: { part: int, webhookId: int },
  gives: row,
  text: `SELECT ${columns} FROM replay_cursors
   WHERE part = :part AND webhook_id = :webhookId ORDER BY round DESC LIMIT 50`,
})

export const selectRunning = statement({
  name: 'select_running_replays',
  takes: { part: int, webhookId: int },
  gives: { id: int, since: orNull(instant) },
  text: `SELECT round AS id, since FROM replay_cursors
   WHERE part = :part AND webhook_id = :webhookId AND state = 'running'`,
})

/** How many it chooses, how many it made due, and the first number that was unfinished or that it begins at. */
export const noteCounts = statement({
  name: 'note_replay_counts',
  takes: { part: int, webhookId: int, round: int, total: orNull(int), pulled: int, first: orNull(int) },
  text: `UPDATE replay_cursors SET total = :total, pulled = :pulled, oldest = (
     SELECT least(k.position + 1, :first::bigint,
       (SELECT min(x.seq) FROM exceptions x WHERE x.part = :part AND x.webhook_id = :webhookId),
       (SELECT min(g.seq) FROM agains g WHERE g.part = :part AND g.webhook_id = :webhookId))
     FROM cursors k WHERE k.part = :part AND k.webhook_id = :webhookId)
   WHERE part = :part AND webhook_id = :webhookId AND round = :round`,
})

/** Of what was unfinished then or came after: what has ended since it began, so many looked at. */
export const countSince = statement({
  name: 'count_ended_since_recovery',
  takes: { part: int, webhookId: int, round: int, most: int },
  gives: { delivered: int, exhausted: int },
  text: `SELECT (count(*) FILTER (WHERE o.state = 'delivered'))::int AS delivered,
     (count(*) FILTER (WHERE o.state = 'exhausted'))::int AS exhausted
   FROM replay_cursors r CROSS JOIN LATERAL (
     SELECT state, at FROM outcomes WHERE part = :part AND webhook_id = :webhookId AND seq >= r.oldest
       ORDER BY seq LIMIT :most) o
   WHERE r.part = :part AND r.webhook_id = :webhookId AND r.round = :round AND o.at >= r.created_at`,
})

/** Where the log begins, and where the webhook is in it. */
export const selectSpan = statement({
  name: 'select_replayed_span',
  takes: { part: int, webhookId: int, feed: int },
  gives: { first: int, reach: orNull(int) },
  text: `SELECT coalesce((SELECT min(first) FROM feed_days WHERE part = :part AND feed = :feed), 1) AS first,
    reach_of(:part, :webhookId) AS reach`,
})

/** Where something that was given up is first found. */
export const selectFirstGivenUp = statement({
  name: 'select_first_given_up',
  takes: { part: int, webhookId: int },
  gives: { seq: int },
  text: `SELECT seq FROM outcomes
   WHERE part = :part AND webhook_id = :webhookId AND state = 'exhausted' ORDER BY seq LIMIT 1`,
})

/** Which entries: those that `startReplay` takes, of a feed, so many at most. */
const selection = {
  part: int,
  webhookId: int,
  feed: int,
  first: int,
  entity: orNull(text),
  from: orNull(instant),
  to: orNull(instant),
  failed: bool,
  since: orNull(instant),
  most: int,
}

/**
 * Of entry `l` as `read_replay` in the migrations has it: ended, and of what was given up only what nothing
 * has been done about.
 */
const isChosen = `l.seq >= :first AND l.seq <= k.reach AND (:entity::text IS NULL OR l.entity = :entity)
  AND (:from::timestamptz IS NULL OR l.created_at >= :from)
    AND (:to::timestamptz IS NULL OR l.created_at < :to)
     AND ${isFor('l', ':webhookId', 'f')}
     AND NOT EXISTS (SELECT FROM exceptions x WHERE x.part = :part AND x.webhook_id = :webhookId
       AND x.entity = l.entity
       AND x.seq <= l.seq OFFSET 0)
     AND (NOT :failed::boolean OR EXISTS (
         SELECT FROM outcomes o WHERE o.part = :part AND o.webhook_id = :webhookId AND o.seq = l.seq
           AND o.day = l.day
           AND o.state = 'exhausted' AND (:since::timestamptz IS NULL OR o.at >= :since) OFFSET 0)
       AND NOT EXISTS (SELECT FROM outcomes o WHERE o.part = :part AND o.webhook_id = :webhookId
         AND o.seq = l.seq
         AND o.day = l.day AND o.state = 'delivered' OFFSET 0)
       AND NOT EXISTS (SELECT FROM agains g WHERE g.part = :part AND g.webhook_id = :webhookId
         AND g.seq = l.seq OFFSET 0))`

/** `looked`: how many were looked at, so that a large choice costs no more than a small one. */
const count = (name: string, looked: string) =>
  statement({
    name,
    takes: selection,
    gives: { total: int, looked: int },
    text: `WITH k AS MATERIALIZED (SELECT reach_of(:part, :webhookId) AS reach)
     SELECT count(*) FILTER (WHERE chosen) AS total, count(*) AS looked FROM (
       SELECT ${isChosen} AS chosen FROM k CROSS JOIN LATERAL (${looked}) l
         CROSS JOIN ${filterAt(':webhookId', 'l.seq')} f
       ) each`,
  })

const entries = (chosen: string, order: string) =>
  `SELECT l.* FROM log l WHERE l.part = :part AND l.feed = :feed AND ${chosen} AND l.seq <= k.reach
    AND l.day >= coalesce(${dayOfSeq(':first', ':feed')}, 0) ORDER BY ${order} LIMIT :most`

export const countAll = count('count_replayed', entries('l.seq >= :first', 'l.seq'))
export const countOfEntity = count(
  'count_replayed_of_entity',
  entries(
    '(l.entity, l.seq) >= (:entity, :first) AND (l.entity, l.seq) <= (:entity, k.reach)',
    'l.entity, l.seq',
  ),
)
/**
 * Each entry is looked up by itself (LIMIT): taken for few, they would be found by comparing all with all.
 */
export const countGivenUp = count(
  'count_replayed_given_up',
  `SELECT e.* FROM (
     SELECT DISTINCT o.seq, o.day FROM (
       SELECT o.seq, o.day FROM outcomes o WHERE o.part = :part AND o.webhook_id = :webhookId
         AND o.seq >= :first
         AND o.state = 'exhausted' ORDER BY o.seq LIMIT :most) o) given_up
   CROSS JOIN ${entryAt(':feed', 'given_up.seq', 'given_up.day')} e`,
)
