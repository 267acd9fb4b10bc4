/** $1 is the part, $2 the webhook; a replay is named by its round. */
import { statement } from '../../database/database.ts'
import { dayOfSeq, filterAt, isFor } from '../events/branch-logs.sql.ts'

const columns = `round AS id, webhook_id AS "webhookId", entity, from_at AS "fromAt", to_at AS "toAt", failed, since, state, total, sent AS done, pulled, created_at AS "createdAt",
  finished_at AS "finishedAt"`

export const selectReplay = statement(
  'select_replay',
  `SELECT ${columns} FROM replay_cursors WHERE part = $1 AND webhook_id = $2 AND round = $3`,
)

export const selectReplays = statement(
  'select_replays',
  `SELECT ${columns} FROM replay_cursors WHERE part = $1 AND webhook_id = $2 ORDER BY round DESC LIMIT 50`,
)

export const selectRunning = statement(
  'select_running_replays',
  `SELECT round AS id, since FROM replay_cursors WHERE part = $1 AND webhook_id = $2 AND state = 'running'`,
)

/** $3 round, $4 how many it chooses, $5 how many it made due. */
export const noteCounts = statement(
  'note_replay_counts',
  'UPDATE replay_cursors SET total = $4, pulled = $5 WHERE part = $1 AND webhook_id = $2 AND round = $3',
)

/** Where the log begins ($3 feed), and where the webhook is in it. */
export const selectSpan = statement(
  'select_replayed_span',
  `SELECT coalesce((SELECT min(first) FROM feed_days WHERE part = $1 AND feed = $3), 1) AS first, reach_of($1, $2) AS reach`,
)

/** Where something that was given up is first found. */
export const selectFirstGivenUp = statement(
  'select_first_given_up',
  `SELECT seq FROM outcomes WHERE part = $1 AND webhook_id = $2 AND state = 'exhausted' ORDER BY seq LIMIT 1`,
)

/** Of entry `l` as `read_replay` in the migrations has it: ended, and of what was given up only what nothing has been done about. $3 feed, $4 from which number on, $5 entity, $6 and $7 times, $8 failed, $9 since. */
const isChosen = `l.seq >= $4 AND l.seq <= k.reach AND ($5::text IS NULL OR l.entity = $5) AND ($6::timestamptz IS NULL OR l.created_at >= $6) AND ($7::timestamptz IS NULL OR l.created_at < $7)
     AND ${isFor('l', '$2', 'f')}
     AND NOT EXISTS (SELECT FROM exceptions x WHERE x.part = $1 AND x.webhook_id = $2 AND x.entity = l.entity AND x.seq <= l.seq OFFSET 0)
     AND (NOT $8::boolean OR EXISTS (
         SELECT FROM outcomes o WHERE o.part = $1 AND o.webhook_id = $2 AND o.seq = l.seq AND o.day = l.day AND o.state = 'exhausted' AND ($9::timestamptz IS NULL OR o.at >= $9) OFFSET 0)
       AND NOT EXISTS (SELECT FROM outcomes o WHERE o.part = $1 AND o.webhook_id = $2 AND o.seq = l.seq AND o.day = l.day AND o.state = 'delivered' OFFSET 0)
       AND NOT EXISTS (SELECT FROM agains g WHERE g.part = $1 AND g.webhook_id = $2 AND g.seq = l.seq OFFSET 0))`

/** `looked`: how many were looked at, $10 at most, so that a large choice costs no more than a small one. */
const count = (name: string, looked: string) =>
  statement(
    name,
    `WITH k AS MATERIALIZED (SELECT reach_of($1, $2) AS reach)
     SELECT count(*) FILTER (WHERE chosen) AS total, count(*) AS looked FROM (
       SELECT ${isChosen} AS chosen FROM k CROSS JOIN LATERAL (${looked}) l CROSS JOIN ${filterAt('$2', 'l.seq')} f
       ) each`,
  )

const entries = (chosen: string, order: string) =>
  `SELECT l.* FROM log l WHERE l.part = $1 AND l.feed = $3 AND ${chosen} AND l.seq <= k.reach AND l.day >= coalesce(${dayOfSeq('$4', '$3')}, 0) ORDER BY ${order} LIMIT $10`

export const countAll = count('count_replayed', entries('l.seq >= $4', 'l.seq'))
export const countOfEntity = count(
  'count_replayed_of_entity',
  entries('(l.entity, l.seq) >= ($5, $4) AND l.entity = $5', 'l.entity, l.seq'),
)
/** Each entry is looked up by itself (LIMIT): taken for few, they would be found by comparing all with all. */
export const countGivenUp = count(
  'count_replayed_given_up',
  `SELECT e.* FROM (
     SELECT DISTINCT o.seq, o.day FROM (
       SELECT o.seq, o.day FROM outcomes o WHERE o.part = $1 AND o.webhook_id = $2 AND o.seq >= $4 AND o.state = 'exhausted' ORDER BY o.seq LIMIT $10) o) given_up
   CROSS JOIN LATERAL entry_of($1, $3, given_up.seq, given_up.day) e`,
)
