import { instant, int } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { mayHaveWork, waiting } from '../engine/waiting.sql.ts'

/** Of a part: what its lanes have; how far each webhook's are counted, from how many entities on it is full. */
export const selectDepths = statement({
  name: 'select_depths',
  takes: { part: int, most: int, exceptionsAtMost: int },
  gives: {
    waiting: int,
    blocked: int,
    exhausted: int,
    lanesHeld: int,
    lanesFull: int,
  },
  text: `SELECT coalesce(sum(waiting.deliveries - least(waiting.blocked, waiting.deliveries)), 0)::int AS waiting,
     coalesce(sum(least(waiting.blocked, waiting.deliveries)), 0)::int AS blocked,
     (SELECT count(*) FROM outcomes o WHERE o.part = :part AND o.state = 'exhausted')::int AS exhausted,
       (count(*) FILTER (WHERE k.holder IS NOT NULL))::int AS "lanesHeld",
     (count(*) FILTER (WHERE waiting.entities >= :exceptionsAtMost))::int AS "lanesFull"
   FROM cursors k CROSS JOIN ${waiting} waiting WHERE k.part = :part AND ${mayHaveWork}`,
})

/** Published in a part, and without a number yet. */
export const countUnnumbered = statement({
  name: 'count_unnumbered',
  takes: { part: int },
  gives: { inbox: int },
  text: `SELECT count(*)::int AS inbox FROM outbox WHERE part = :part
    AND id > (SELECT floor FROM outbox_floors WHERE part = :part)`,
})

/** When the first event of a part that has no number was published. */
export const selectFirstPublished = statement({
  name: 'select_first_published',
  takes: { part: int },
  gives: { at: instant },
  text: `SELECT created_at AS at FROM outbox WHERE part = :part
    AND id > (SELECT floor FROM outbox_floors WHERE part = :part) ORDER BY id LIMIT 1`,
})
