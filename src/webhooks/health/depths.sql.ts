import { statement } from '../../database/database.ts'
import { mayHaveWork, waiting } from '../engine/waiting.sql.ts'

/** Of a part ($1): what its lanes have; $2 from how many failures and $4 from how many entities on a breaker is open, $3 how far each webhook's are counted, $5 from how many entities on it is full. */
export const selectDepths = statement(
  'select_depths',
  `SELECT (SELECT count(*) FROM outbox WHERE part = $1 AND id > (SELECT floor FROM outbox_floors WHERE part = $1))::int AS inbox, coalesce(sum(waiting.deliveries - least(waiting.blocked, waiting.deliveries)), 0)::int AS waiting,
     coalesce(sum(least(waiting.blocked, waiting.deliveries)), 0)::int AS blocked,
     (SELECT count(*) FROM outcomes o WHERE o.part = $1 AND o.state = 'exhausted')::int AS exhausted, (count(*) FILTER (WHERE k.holder IS NOT NULL))::int AS "lanesHeld",
     (count(*) FILTER (WHERE k.failures >= $2 AND waiting.entities >= $4))::int AS "breakersOpen", (count(*) FILTER (WHERE waiting.entities >= $5))::int AS "lanesFull"
   FROM cursors k CROSS JOIN ${waiting} waiting WHERE k.part = $1 AND ${mayHaveWork}`,
)

export const countDisabled = statement(
  'count_disabled_webhooks',
  `SELECT count(*) AS webhooks FROM webhooks WHERE state = 'disabled'`,
)

/** When the first event of a part that has no number was published. */
export const selectFirstPublished = statement(
  'select_first_published',
  'SELECT created_at AS at FROM outbox WHERE part = $1 AND id > (SELECT floor FROM outbox_floors WHERE part = $1) ORDER BY id LIMIT 1',
)
