import { instant, instantOrInfinity, int, list, orNull } from '../../database/column.ts'
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
  failures: int,
  failingSince: orNull(instant),
  entities: int,
  dueAt: orNull(instantOrInfinity),
  lateSince: orNull(instantOrInfinity),
}

/**
 * Lanes of a part that have work: when the first of what they have is or was due, and since when something
 * waits that should have been sent. What is sent again waits behind what happens, and a webhook with a rate
 * limit (`rated`) takes its time: both are late only while no worker holds the lane.
 */
const states = (which: string) =>
  `SELECT "webhookId", failures, "failingSince", entities, least(due_at, again_at) AS "dueAt",
     CASE WHEN is_open AND hold_until <= :now THEN least(CASE WHEN is_held AND has_rate
       THEN NULL ELSE due_at END, CASE WHEN is_held THEN NULL ELSE again_at END) END AS "lateSince"
   FROM (
     SELECT k.webhook_id AS "webhookId", k.failures, k.failing_since AS "failingSince", k.is_open,
       k.hold_until, k.holder IS NOT NULL AS is_held,
       k.webhook_id = ANY (:rated::bigint[]) AS has_rate, failing.entities::int AS entities,
         CASE WHEN least(first_new.at, failing.due_at) IS NOT NULL
         THEN greatest(least(first_new.at, failing.due_at), k.hold_until) END AS due_at,
       (SELECT min(g.due_at) FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id) AS again_at
     FROM cursors k CROSS JOIN LATERAL (
       SELECT count(*) AS entities, min(x.due_at) AS due_at FROM exceptions x
         WHERE x.part = :part AND x.webhook_id = k.webhook_id) failing
     CROSS JOIN LATERAL (SELECT ${firstNew} AS at) first_new
     WHERE k.part = :part AND ${which}) state`

const asked = { part: int, now: instant, rated: list(int) }

export const selectLaneStates = statement({
  name: 'select_lane_states',
  takes: asked,
  gives: stateRow,
  text: states(mayHaveWork),
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
