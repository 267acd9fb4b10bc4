/** How every webhook is, of all partners and both environments, worst first: what an operator looks at. */
import { after, minute } from '../clock.ts'
import { type Sql, statement } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { NotFound } from '../problem.ts'
import { breakerThreshold } from './lane.ts'
import type { Webhook } from './webhook.ts'

/** In this order. `late`: its receiver is well, but what is due has not been sent for a minute. `held`: its partner is not approved. */
export const laneConditions = ['breaker open', 'disabled', 'failing', 'late', 'paused', 'held', 'healthy'] as const
export type LaneCondition = (typeof laneConditions)[number]
export const unwellConditions: readonly LaneCondition[] = laneConditions.filter((each) => each !== 'healthy')

const lateMs = minute

export interface LaneHealth extends Webhook {
  readonly partner: string
  readonly condition: LaneCondition
  readonly failures: number
  readonly failing_since: Date | null
  /** Of the first delivery that waits; it may lie in the future. */
  readonly due_at: Date | null
}

export interface LaneFilter {
  readonly conditions?: readonly LaneCondition[] | undefined
  readonly environment?: Environment | undefined
  /** A branch, or a part of a partner's name. */
  readonly partner?: number | string | undefined
}

const columns =
  'id, branch_id, environment, client_id, url, kinds, state, disabled_reason, created_at, updated_at, partner, condition, failures, failing_since, due_at'

const first = (urgency: 0 | 1) =>
  `(SELECT q.due_at FROM queued_deliveries q WHERE q.webhook_id = w.id AND q.urgency = ${urgency} AND q.due_at >= l.due_from AND q.due_at < 'infinity' ORDER BY q.due_at LIMIT 1)`

/** $1: from how much evidence on a breaker is open; $2: what was due before is late; what is sent again, only while nobody is at it who should be. */
const judged = (
  which: string,
) => `SELECT w.id, w.branch_id, w.environment, w.client_id, w.url, w.kinds, w.state, w.disabled_reason,
    w.created_at, w.updated_at, p.name AS partner, l.failures, l.failing_since, due.due_at,
    CASE WHEN w.state <> 'active' THEN w.state WHEN p.status <> 'approved' THEN 'held' WHEN l.evidence >= $1 THEN 'breaker open' WHEN l.failures > 0 THEN 'failing'
      WHEN due.late_since < $2 THEN 'late' ELSE 'healthy' END AS condition
  FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id JOIN lanes l ON l.webhook_id = w.id
  LEFT JOIN LATERAL (
    SELECT least(now.due_at, again.due_at) AS due_at, least(now.due_at, greatest(again.due_at, l.attention_at)) AS late_since
    FROM (SELECT ${first(0)} AS due_at) now, (SELECT ${first(1)} AS due_at) again) due ON true
  WHERE w.state <> 'deleted' AND ${which}`

const chosen = `($3::text IS NULL OR w.environment = $3) AND ($4::integer IS NULL OR w.branch_id = $4)
  AND ($5::text IS NULL OR position(lower($5) IN lower(p.name)) > 0)`

const selectLanes = statement(
  'select_lanes_by_health',
  `WITH judged AS MATERIALIZED (${judged(chosen)})
   SELECT ${columns} FROM judged WHERE $6::text[] IS NULL OR condition = ANY ($6)
   ORDER BY array_position($7::text[], condition), failing_since NULLS LAST, due_at NULLS LAST, id LIMIT $8 OFFSET $9`,
)

const selectLane = statement('select_lane_health', judged('w.id = $3'))

const countConditions = statement(
  'count_lane_conditions',
  `SELECT condition, count(*) AS webhooks FROM (${judged('true')}) judged GROUP BY condition`,
)

const limitsAt = (now: Date) => [breakerThreshold, after(now, -lateMs)]

export function listLanes(
  sql: Sql,
  { conditions, environment, partner }: LaneFilter,
  now: Date,
  { most, skip }: { most: number; skip: number },
): Promise<LaneHealth[]> {
  const branch = typeof partner === 'number' ? partner : undefined
  const name = typeof partner === 'string' ? partner : undefined
  const values = [...limitsAt(now), environment, branch, name, conditions, laneConditions, most, skip]
  return sql.query<LaneHealth>(selectLanes, values)
}

export async function getLane(sql: Sql, id: number, now: Date): Promise<LaneHealth> {
  const [lane] = await sql.query<LaneHealth>(selectLane, [...limitsAt(now), id])
  if (!lane) throw new NotFound(`There is no webhook ${id}.`)
  return lane
}

export async function countLanes(sql: Sql, now: Date): Promise<ReadonlyMap<LaneCondition, number>> {
  const rows = await sql.query<{ condition: LaneCondition; webhooks: number }>(countConditions, limitsAt(now))
  return new Map(rows.map(({ condition, webhooks }) => [condition, webhooks]))
}
