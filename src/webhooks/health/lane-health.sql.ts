import { instant, int, list, oneOf, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { webhookColumns, webhookRow } from '../subscriptions/webhooks.sql.ts'
import { conditions } from './condition.ts'

const condition = oneOf(...conditions)

/** Webhooks of which lanes say something: how they are judged, since when they fail, when the first is due. */
const states = {
  webhookIds: list(int),
  conditions: list(condition),
  failingSince: list(orNull(instant)),
  dueAt: list(orNull(instant)),
}

/** Webhooks of all partners with how they are: one that is not active, or may not act, is that first of all. */
const judged = (which: string) => `SELECT ${webhookColumns}, p.name AS partner,
    l.failing_since AS "failingSince", l.due_at AS "dueAt",
    CASE WHEN webhooks.state <> 'active' THEN webhooks.state WHEN NOT may_act(p.status, webhooks.environment)
      THEN 'held' ELSE coalesce(l.condition, 'healthy') END AS condition
  FROM webhooks JOIN partners p ON p.branch_id = webhooks.branch_id
  LEFT JOIN unnest(:webhookIds::bigint[], :conditions::text[], :failingSince::timestamptz[],
    :dueAt::timestamptz[])
    AS l (webhook_id, condition, failing_since, due_at) ON l.webhook_id = webhooks.id
  WHERE webhooks.state <> 'deleted' AND ${which}`

const judgedRow = { ...webhookRow, partner: text, condition }

const chosen = `(:environment::text IS NULL OR webhooks.environment = :environment)
  AND (:branchId::integer IS NULL OR webhooks.branch_id = :branchId)
  AND (:partner::text IS NULL OR position(lower(:partner) IN lower(p.name)) > 0)`

const columns = `${Object.keys(webhookRow)
  .map((name) => `"${name}"`)
  .join(', ')}, partner, condition`

/** Those in one of the `wanted` conditions; the worst, which is first in `order`, first. */
export const selectLanes = statement({
  name: 'select_lanes_by_health',
  takes: {
    ...states,
    environment: orNull(text),
    branchId: orNull(int),
    partner: orNull(text),
    wanted: orNull(list(condition)),
    order: list(condition),
    most: int,
    skip: int,
  },
  gives: judgedRow,
  text: `WITH judged AS MATERIALIZED (${judged(chosen)})
   SELECT ${columns} FROM judged WHERE :wanted::text[] IS NULL OR condition = ANY (:wanted)
   ORDER BY array_position(:order::text[], condition), "failingSince" NULLS LAST, "dueAt" NULLS LAST, id
     LIMIT :most OFFSET :skip`,
})

export const selectLanesOf = statement({
  name: 'select_health_of_lanes',
  takes: { ...states, ids: list(int) },
  gives: judgedRow,
  text: `SELECT ${columns} FROM (${judged('webhooks.id = ANY (:ids::bigint[])')}) judged`,
})

export const countConditions = statement({
  name: 'count_lane_conditions',
  takes: states,
  gives: { condition, webhooks: int },
  text: `SELECT condition, count(*) AS webhooks FROM (${judged('true')}) judged GROUP BY condition`,
})
