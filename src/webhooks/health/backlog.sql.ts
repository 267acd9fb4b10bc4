import { decimal, instant, int, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { fromPosition, unfinishedOf } from '../engine/waiting.sql.ts'
import { filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** The oldest that wait at a webhook, so many and no more; of their entities those with most behind them. */
export const selectHeldEntities = statement({
  name: 'select_held_entities',
  takes: { part: int, webhookId: int, most: int, entitiesAtMost: int },
  gives: {
    entity: text,
    waiting: int,
    behind: int,
    since: instant,
    attempts: int,
    seq: int,
    entities: int,
    looked: decimal,
    blocked: decimal,
  },
  text: `WITH looked AS MATERIALIZED (
     SELECT u.* FROM cursors k CROSS JOIN LATERAL (
       (SELECT below.* FROM exceptions x
         CROSS JOIN LATERAL (${unfinishedOf('l.seq, l.entity, l.created_at')}) below
        WHERE x.part = :part AND x.webhook_id = k.webhook_id AND below.seq <= k.position)
       UNION ALL
       (SELECT l.seq, l.entity, l.created_at FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
        WHERE ${fromPosition} AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')}
          ORDER BY l.seq LIMIT :most)) u
     WHERE k.part = :part AND k.webhook_id = :webhookId ORDER BY u.seq LIMIT :most),
   held AS MATERIALIZED (
     SELECT l.entity, count(*) AS waiting, count(*) FILTER (WHERE l.seq > x.seq) AS behind,
       min(l.created_at) AS since, coalesce(max(x.attempts), 0) AS attempts, min(l.seq) AS seq
     FROM looked l LEFT JOIN LATERAL (
       SELECT seq, attempts FROM exceptions WHERE part = :part AND webhook_id = :webhookId
         AND entity = l.entity OFFSET 0) x ON true GROUP BY l.entity)
   SELECT held.*, (SELECT count(*) FROM held) AS entities, (SELECT sum(waiting) FROM held) AS looked,
     (SELECT sum(behind) FROM held) AS blocked
   FROM held ORDER BY behind DESC, since, seq LIMIT :entitiesAtMost`,
})
