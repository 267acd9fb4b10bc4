/** How much there is of what waits. Every count runs over a partial index that holds nothing else; what is kept back on purpose is not overdue. */
import { type Database, statement } from '../database/database.ts'
import { breakerThreshold } from './lane.ts'

export interface Depths {
  readonly inbox: number
  readonly waiting: number
  readonly blocked: number
  readonly exhausted: number
  readonly overdueSeconds: number
  readonly lanesHeld: number
  readonly breakersOpen: number
  readonly webhooksDisabled: number
}

/** The first due of each webhook whose deliveries may be sent. */
const firstDue = `FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id AND p.status = 'approved'
      JOIN lanes l ON l.webhook_id = w.id
      CROSS JOIN LATERAL (SELECT due_at FROM deliveries WHERE webhook_id = w.id AND state = 'waiting'
        ORDER BY due_at LIMIT 1) d
      WHERE w.state = 'active'`

const selectDepths = statement(
  'select_depths',
  `SELECT (SELECT count(*) FROM event_inbox) AS inbox,
     (SELECT count(*) FROM deliveries WHERE state = 'waiting') AS waiting,
     (SELECT count(*) FROM deliveries WHERE state = 'blocked') AS blocked,
     (SELECT count(*) FROM deliveries WHERE state = 'exhausted') AS exhausted,
     greatest(0, coalesce(extract(epoch FROM $1 - (SELECT min(d.due_at) ${firstDue})), 0))::float8 AS "overdueSeconds",
     (SELECT count(*) FROM lanes WHERE claim_id IS NOT NULL) AS "lanesHeld",
     (SELECT count(*) FROM lanes WHERE failures >= $2) AS "breakersOpen",
     (SELECT count(*) FROM webhooks WHERE state = 'disabled') AS "webhooksDisabled"`,
)

export async function readDepths(db: Database, now: Date): Promise<Depths> {
  const [depths] = await db.query<Depths>(selectDepths, [now, breakerThreshold])
  return depths!
}

export interface Oldest {
  /** Of the first event that has no deliveries yet. */
  readonly publishedAt: Date | null
  /** Of the first delivery that a worker should have taken. */
  readonly dueAt: Date | null
}

const selectOldest = statement(
  'select_oldest',
  `SELECT
     (SELECT e.created_at FROM event_inbox i JOIN events e ON e.id = i.event_id ORDER BY i.event_id LIMIT 1) AS "publishedAt",
     (SELECT min(d.due_at) ${firstDue} AND l.failures < $1) AS "dueAt"`,
)

export async function readOldest(db: Database): Promise<Oldest> {
  const [oldest] = await db.query<Oldest>(selectOldest, [breakerThreshold])
  return oldest!
}
