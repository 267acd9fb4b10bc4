import { statement } from '../database/database.ts'
import { webhookColumns } from './webhooks.sql.ts'

const first = (urgency: 0 | 1) =>
  `(SELECT q.due_at FROM queued_deliveries q WHERE q.webhook_id = webhooks.id AND q.urgency = ${urgency} AND q.due_at >= l.due_from AND q.due_at < 'infinity' ORDER BY q.due_at LIMIT 1)`

/** $1: from how much evidence on a breaker is open; $2: what was due before is late; what is sent again, or at a rate that the receiver chose, only while nobody is at it who should be. */
const judged = (
  which: string,
) => `SELECT ${webhookColumns}, p.name AS partner, l.failures, l.failing_since AS "failingSince", due.due_at AS "dueAt",
    CASE WHEN webhooks.state <> 'active' THEN webhooks.state WHEN NOT may_act(p.status, webhooks.environment) THEN 'held' WHEN l.evidence >= $1 THEN 'breaker open' WHEN l.failures > 0 THEN 'failing'
      WHEN due.late_since < $2 THEN 'late' ELSE 'healthy' END AS condition
  FROM webhooks JOIN partners p ON p.branch_id = webhooks.branch_id JOIN lanes l ON l.webhook_id = webhooks.id
  LEFT JOIN LATERAL (
    SELECT least(now.due_at, again.due_at) AS due_at, least(CASE WHEN webhooks.rate_limit IS NULL THEN now.due_at ELSE greatest(now.due_at, l.attention_at) END,
      greatest(again.due_at, l.attention_at)) AS late_since
    FROM (SELECT ${first(0)} AS due_at) now, (SELECT ${first(1)} AS due_at) again) due ON true
  WHERE webhooks.state <> 'deleted' AND ${which}`

const chosen = `($3::text IS NULL OR webhooks.environment = $3) AND ($4::integer IS NULL OR webhooks.branch_id = $4)
  AND ($5::text IS NULL OR position(lower($5) IN lower(p.name)) > 0)`

export const selectLanes = statement(
  'select_lanes_by_health',
  `WITH judged AS MATERIALIZED (${judged(chosen)})
   SELECT * FROM judged WHERE $6::text[] IS NULL OR condition = ANY ($6)
   ORDER BY array_position($7::text[], condition), "failingSince" NULLS LAST, "dueAt" NULLS LAST, id LIMIT $8 OFFSET $9`,
)

export const selectLane = statement('select_lane_health', judged('webhooks.id = $3'))

export const countConditions = statement(
  'count_lane_conditions',
  `SELECT condition, count(*) AS webhooks FROM (${judged('true')}) judged GROUP BY condition`,
)
