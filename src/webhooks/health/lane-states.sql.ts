import { type Statement, statement } from '../../database/database.ts'
import { fromPosition, mayHaveWork } from '../engine/waiting.sql.ts'
import { filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** When the first entry was published that could be sent and has not been. */
const firstNew = `(SELECT l.created_at FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
     WHERE ${fromPosition} AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')}
       AND NOT EXISTS (SELECT FROM exceptions x WHERE x.part = $1 AND x.webhook_id = k.webhook_id AND x.entity = l.entity OFFSET 0)
     ORDER BY l.seq LIMIT 1)`

/**
 * Lanes of a part ($1) that have work, at $2: when the first of what they have is or was due, and since when something waits that should have been sent. What is
 * sent again waits behind what happens, and whoever has chosen a rate ($3) takes its time: both are late only while nobody is at the lane.
 */
const states = (name: string, which: string): Statement =>
  statement(
    name,
    `SELECT "webhookId", failures, "failingSince", entities, least(due_at, again_at) AS "dueAt",
       CASE WHEN is_open AND hold_until <= $2 THEN least(CASE WHEN is_held AND has_rate THEN NULL ELSE due_at END, CASE WHEN is_held THEN NULL ELSE again_at END) END AS "lateSince"
     FROM (
       SELECT k.webhook_id AS "webhookId", k.failures, k.failing_since AS "failingSince", k.is_open, k.hold_until, k.holder IS NOT NULL AS is_held,
         k.webhook_id = ANY ($3::bigint[]) AS has_rate, failing.entities::int AS entities, CASE WHEN least(first_new.at, failing.due_at) IS NOT NULL THEN greatest(least(first_new.at, failing.due_at), k.hold_until) END AS due_at,
         (SELECT min(g.due_at) FROM agains g WHERE g.part = $1 AND g.webhook_id = k.webhook_id) AS again_at
       FROM cursors k CROSS JOIN LATERAL (
         SELECT count(*) AS entities, min(x.due_at) AS due_at FROM exceptions x WHERE x.part = $1 AND x.webhook_id = k.webhook_id) failing
       CROSS JOIN LATERAL (SELECT ${firstNew} AS at) first_new
       WHERE k.part = $1 AND ${which}) state`,
  )

export const selectLaneStates = states('select_lane_states', mayHaveWork)
export const selectStatesOf = states('select_lane_states_of', 'k.webhook_id = ANY ($4::bigint[])')

export const selectRated = statement(
  'select_rated_webhooks',
  `SELECT id FROM webhooks WHERE rate_limit IS NOT NULL AND state = 'active'`,
)
