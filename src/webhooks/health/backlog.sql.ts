import { statement } from '../../database/database.ts'
import { fromPosition, unfinishedOf } from '../engine/waiting.sql.ts'
import { filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** The oldest that wait at a webhook ($1 part, $2 webhook), so many ($3) and no more; of their entities those with most behind them ($4). */
export const selectHeldEntities = statement(
  'select_held_entities',
  `WITH looked AS MATERIALIZED (
     SELECT u.* FROM cursors k CROSS JOIN LATERAL (
       (SELECT below.* FROM exceptions x CROSS JOIN LATERAL (${unfinishedOf('l.seq, l.entity, l.created_at')}) below
        WHERE x.part = $1 AND x.webhook_id = k.webhook_id AND below.seq <= k.position)
       UNION ALL
       (SELECT l.seq, l.entity, l.created_at FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
        WHERE ${fromPosition} AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')} ORDER BY l.seq LIMIT $3)) u
     WHERE k.part = $1 AND k.webhook_id = $2 ORDER BY u.seq LIMIT $3),
   held AS MATERIALIZED (
     SELECT l.entity, count(*) AS waiting, count(*) FILTER (WHERE l.seq > x.seq) AS behind, min(l.created_at) AS since, coalesce(max(x.attempts), 0) AS attempts, min(l.seq) AS seq
     FROM looked l LEFT JOIN LATERAL (
       SELECT seq, attempts FROM exceptions WHERE part = $1 AND webhook_id = $2 AND entity = l.entity OFFSET 0) x ON true GROUP BY l.entity)
   SELECT held.*, (SELECT count(*) FROM held) AS entities, (SELECT sum(waiting) FROM held) AS looked, (SELECT sum(behind) FROM held) AS blocked
   FROM held ORDER BY behind DESC, since, seq LIMIT $4`,
)
