import { statement } from '../../database/database.ts'
import { fromPosition } from '../engine/waiting.sql.ts'
import { filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** What the lane of a webhook ($1 part, $2 webhook) would ask next: of what fails, of what is new, of what was asked for again. For whoever has locked the cursor. */
export const selectProbe = statement(
  'select_probe',
  `(SELECT x.seq, 0 AS round, x.entity, x.attempts AS "attemptsBefore" FROM exceptions x WHERE x.part = $1 AND x.webhook_id = $2 ORDER BY x.due_at, x.seq LIMIT 1)
   UNION ALL
   (SELECT l.seq, 0, l.entity, 0 FROM cursors k CROSS JOIN LATERAL (
      SELECT l.seq, l.entity FROM log l CROSS JOIN ${filterAt('k.webhook_id', 'l.seq')} f
      WHERE ${fromPosition} AND ${isFor('l', 'k.webhook_id', 'f')} AND NOT ${hasEnded('l', 'k.webhook_id')} ORDER BY l.seq LIMIT 1) l
    WHERE k.part = $1 AND k.webhook_id = $2)
   UNION ALL
   (SELECT g.seq, g.round, g.entity, g.attempts FROM agains g WHERE g.part = $1 AND g.webhook_id = $2 ORDER BY g.due_at, g.seq LIMIT 1)
   LIMIT 1`,
)
