import { statement } from '../../database/database.ts'
import { webhookColumns } from '../subscriptions/webhooks.sql.ts'

/**
 * Webhooks of all partners with what their lanes say: $1 webhooks whose lanes have work, $2 their failures, $3 since when they fail, $4 when the first of what they
 * have is due, $5 how they are judged.
 */
const judged = (
  which: string,
) => `SELECT ${webhookColumns}, p.name AS partner, coalesce(l.failures, 0) AS failures, l.failing_since AS "failingSince", l.due_at AS "dueAt",
    CASE WHEN webhooks.state <> 'active' THEN webhooks.state WHEN NOT may_act(p.status, webhooks.environment) THEN 'held' ELSE coalesce(l.condition, 'healthy') END AS condition
  FROM webhooks JOIN partners p ON p.branch_id = webhooks.branch_id
  LEFT JOIN unnest($1::bigint[], $2::int[], $3::timestamptz[], $4::timestamptz[], $5::text[]) AS l (webhook_id, failures, failing_since, due_at, condition) ON l.webhook_id = webhooks.id
  WHERE webhooks.state <> 'deleted' AND ${which}`

const chosen = `($6::text IS NULL OR webhooks.environment = $6) AND ($7::integer IS NULL OR webhooks.branch_id = $7)
  AND ($8::text IS NULL OR position(lower($8) IN lower(p.name)) > 0)`

export const selectLanes = statement(
  'select_lanes_by_health',
  `WITH judged AS MATERIALIZED (${judged(chosen)})
   SELECT * FROM judged WHERE $9::text[] IS NULL OR condition = ANY ($9)
   ORDER BY array_position($10::text[], condition), "failingSince" NULLS LAST, "dueAt" NULLS LAST, id LIMIT $11 OFFSET $12`,
)

export const selectLane = statement('select_lane_health', judged('webhooks.id = $6'))

export const countConditions = statement(
  'count_lane_conditions',
  `SELECT condition, count(*) AS webhooks FROM (${judged('true')}) judged GROUP BY condition`,
)
