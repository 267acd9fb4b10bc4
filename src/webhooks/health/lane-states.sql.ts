import { bool, instant, instantOrInfinity, int, list, oneOf, orNull } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { fromPosition, mayHaveWork } from '../engine/waiting.sql.ts'
import { filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** When the first entry was published that could be sent and has not been. */
const firstNew = `(SELECT l.created_at FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
     WHERE ${fromPosition} AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')}
       AND NOT EXISTS (SELECT FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id
         AND x.entity = l.entity OFFSET 0)
     ORDER BY l.seq LIMIT 1)`

const stateRow = {
  webhookId: int,
  termBegan: oneOf('created', 'resumed', 'approved', 'readdressed'),
  isTried: bool,
  failures: int,
  failingSince: orNull(instant),
  troubleSince: orNull(instant),
  entities: int,
  retried: int,
  dueAt: orNull(instantOrInfinity),
  lateSince: orNull(instantOrInfinity),
}

/**
 * Lanes of a part that have work: when the first of what they have is or was due, and since when something
 * waits that should have been sent. What is sent again waits behind what happens, and a webhook with a rate
 * limit (`rated`) takes its time: both are late only while no worker holds the lane. Failures of an earlier
 * term are none of this one.
 */
const states = (which: string) =>
  `SELECT "webhookId", "termBegan", is_tried AS "isTried", CASE WHEN is_tried THEN failures ELSE 0 END AS failures,
     CASE WHEN is_tried THEN failing_since END AS "failingSince", failing_since AS "troubleSince", entities,
     retried + retried_again AS retried, least(due_at, again_at) AS "dueAt",
     CASE WHEN is_open AND hold_until <= :now THEN least(CASE WHEN is_held AND has_rate
       THEN NULL ELSE due_at END, CASE WHEN is_held THEN NULL ELSE again_at END) END AS "lateSince"
   FROM (
     SELECT k.webhook_id AS "webhookId", k.term_began AS "termBegan", k.tried_in IS NOT DISTINCT FROM k.term
       AS is_tried, k.failures, k.failing_since, k.is_open,
       k.hold_until, k.holder IS NOT NULL AS is_held,
       k.webhook_id = ANY (:rated::bigint[]) AS has_rate, failing.entities::int AS entities,
         failing.retried::int AS retried, again.retried::int AS retried_again,
         CASE WHEN least(first_new.at, failing.due_at) IS NOT NULL
         THEN greatest(least(first_new.at, failing.due_at), k.hold_until) END AS due_at,
       again.due_at AS again_at
     FROM cursors k CROSS JOIN LATERAL (
       SELECT count(*) AS entities, count(*) FILTER (WHERE x.attempts > 0) AS retried, min(x.due_at) AS due_at
         FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id) failing
     CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE g.attempts > 0) AS retried, min(g.due_at) AS due_at
         FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id) again
     CROSS JOIN LATERAL (SELECT CASE WHEN ${mayHaveWork} THEN ${firstNew} END AS at) first_new
     WHERE k.part = :part AND ${which}) state`

const asked = { part: int, now: instant, rated: list(int) }

/** All that cannot be said to be well for want of work. */
export const selectLaneStates = statement({
  name: 'select_lane_states',
  takes: asked,
  gives: stateRow,
  text: states(`(${mayHaveWork} OR k.failing_since IS NOT NULL OR k.tried_in IS DISTINCT FROM k.term)`),
})

export const selectStatesOf = statement({
  name: 'select_lane_states_of',
  takes: { ...asked, webhookIds: list(int) },
  gives: stateRow,
  text: states('k.webhook_id = ANY (:webhookIds::bigint[])'),
})

export const selectRated = statement({
  name: 'select_rated_webhooks',
  gives: { id: int },
  text: `SELECT id FROM webhooks WHERE rate_limit IS NOT NULL AND state = 'active'`,
})
