/** How much there is of what waits. Every count runs over a partial index that holds nothing else. */
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

const selectDepths = statement(
  'select_depths',
  `SELECT (SELECT count(*) FROM event_inbox) AS inbox, waiting.count AS waiting,
     (SELECT count(*) FROM deliveries WHERE state = 'blocked') AS blocked,
     (SELECT count(*) FROM deliveries WHERE state = 'exhausted') AS exhausted,
     greatest(0, coalesce(extract(epoch FROM $1 - waiting.oldest), 0))::float8 AS "overdueSeconds",
     (SELECT count(*) FROM lanes WHERE claim_id IS NOT NULL) AS "lanesHeld",
     (SELECT count(*) FROM lanes WHERE failures >= $2) AS "breakersOpen",
     (SELECT count(*) FROM webhooks WHERE state = 'disabled') AS "webhooksDisabled"
   FROM (SELECT count(*) AS count, min(due_at) AS oldest FROM deliveries WHERE state = 'waiting') waiting`,
)

export async function readDepths(db: Database, now: Date): Promise<Depths> {
  const [depths] = await db.query<Depths>(selectDepths, [now, breakerThreshold])
  return depths!
}
