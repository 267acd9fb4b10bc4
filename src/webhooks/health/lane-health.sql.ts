import { instant, int, list, oneOf, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { webhookColumns, webhookRow } from '../subscriptions/webhooks.sql.ts'

const condition = oneOf('breaker open', 'disabled', 'failing', 'late', 'paused', 'held', 'healthy')

/** Webhooks whose lanes have work: what the lanes say, when the first is due, and how they are judged. */
const states = {
  webhookIds: list(int),
  failures: list(int),
  failingSince: list(orNull(instant)),
  dueAt: list(orNull(instant)),
  conditions: list(condition),
}

/** Webhooks of all partners with what their lanes say. */
const judged = (
  which: string,
) => `SELECT ${webhookColumns}, p.name AS partner, coalesce(l.failures, 0) AS failures,
  l.failing_since AS "failingSince", l.due_at AS "dueAt",
    CASE WHEN webhooks.state <> 'active' THEN webhooks.state WHEN NOT may_act(p.status, webhooks.environment)
      THEN 'held' ELSE coalesce(l.condition, 'healthy') END AS condition
  FROM webhooks JOIN partners p ON p.branch_id = webhooks.branch_id
  LEFT JOIN unnest(:webhookIds::bigint[], :failures::int[], :failingSince::timestamptz[],
    :dueAt::timestamptz[], :conditions::text[])
    AS l (webhook_id, failures, failing_since, due_at, condition) ON l.webhook_id = webhooks.id
  WHERE webhooks.state <> 'deleted' AND ${which}`

const judgedRow = {
  ...webhookRow,
  partner: text,
  failures: int,
  failingSince: orNull(instant),
  dueAt: orNull(instant),
  condition,
}

const chosen = `(:environment::text IS NULL OR webhooks.environment = :environment)
  AND (:branchId::integer IS NULL OR webhooks.branch_id = :branchId)
  AND (:partner::text IS NULL OR position(lower(:partner) IN lower(p.name)) > 0)`

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
   SELECT * FROM judged WHERE :wanted::text[] IS NULL OR condition = ANY (:wanted)
   ORDER BY array_position(:order::text[], condition), "failingSince" NULLS LAST, "dueAt" NULLS LAST, id
     LIMIT :most OFFSET :skip`,
})

export const selectLane = statement({
  name: 'select_lane_health',
  takes: { ...states, id: int },
  gives: judgedRow,
  text: judged('webhooks.id = :id'),
})

export const countConditions = statement({
  name: 'count_lane_conditions',
  takes: states,
  gives: { condition, webhooks: int },
  text: `SELECT condition, count(*) AS webhooks FROM (${judged('true')}) judged GROUP BY condition`,
})
