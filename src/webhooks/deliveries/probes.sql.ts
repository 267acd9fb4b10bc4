import { int, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { fromPosition } from '../engine/waiting.sql.ts'
import { filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/**
 * The delivery that the lane of a webhook would send next: a failing one, a new one or a replayed one. The
 * calling transaction has locked the cursor.
 */
export const selectProbe = statement({
  name: 'select_probe',
  takes: { part: int, webhookId: int },
  gives: { seq: int, round: int, entity: text, attemptsBefore: int },
  text: `(SELECT x.seq, 0 AS round, x.entity, x.attempts AS "attemptsBefore" FROM exceptions x
    WHERE x.part = :part AND x.webhook_id = :webhookId ORDER BY x.due_at, x.seq LIMIT 1)
   UNION ALL
   (SELECT l.seq, 0, l.entity, 0 FROM cursors k CROSS JOIN LATERAL (
      SELECT l.seq, l.entity FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
      WHERE ${fromPosition} AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')}
        ORDER BY l.seq LIMIT 1) l
    WHERE k.part = :part AND k.webhook_id = :webhookId)
   UNION ALL
   (SELECT g.seq, g.round, g.entity, g.attempts FROM agains g
     WHERE g.part = :part AND g.webhook_id = :webhookId
     ORDER BY g.due_at, g.seq LIMIT 1)
   LIMIT 1`,
})
