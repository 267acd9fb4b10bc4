/** What the engine promises, held against what is stored and what was received. For the fault suite and the simulated quarter alike; none is the only good answer. */
import { type Sql, statement } from '../../src/database/database.ts'
import { findBroken, printBroken, recentScope, wholeScope } from '../../src/webhooks/invariants.ts'

/** Of one webhook: an entity's events first arrive in the order of their places. Answers those that another had overtaken. */
export function findOvertaken(
  arrived: readonly string[],
  eventOf: (id: string) => { readonly entity: string | number; readonly place: number } | undefined,
): string[] {
  const seen = new Set<string>()
  const furthest = new Map<string | number, number>()
  return arrived.flatMap((id) => {
    const event = seen.has(id) ? undefined : eventOf(id)
    seen.add(id)
    if (!event) return []
    const before = furthest.get(event.entity) ?? 0
    furthest.set(event.entity, Math.max(before, event.place))
    return event.place < before ? [id] : []
  })
}

/** Of what is kept: each day goes from its first number to its last, and the next day goes on there. */
const selectGaps = statement(
  '',
  `SELECT 'the log of branch ' || branch_id || ' has a gap on day ' || day AS problem FROM (
     SELECT d.*, (SELECT count(*) FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day) AS kept,
       (SELECT min(sequence) FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day) AS lowest,
       (SELECT max(sequence) FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day) AS highest,
       lag(last) OVER (PARTITION BY branch_id, environment ORDER BY day) AS before
     FROM branch_days d) days
   WHERE kept > 0 AND (lowest <> first OR highest - lowest + 1 <> kept OR highest <> coalesce(last, highest) OR first <> coalesce(before + 1, first))`,
)

const selectStuck = statement(
  '',
  `SELECT 'delivery ' || q.id || ' waits behind ' || q.after_id || ', which does not' AS problem FROM queued_deliveries q
   JOIN webhooks w ON w.id = q.webhook_id AND w.state <> 'deleted'
   WHERE q.after_id IS NOT NULL AND NOT EXISTS (SELECT FROM queued_deliveries b WHERE b.id = q.after_id)`,
)

/** The log says how many each event was given; they are there until their day leaves. */
const selectUncounted = statement(
  '',
  `WITH found AS MATERIALIZED (SELECT event_id, count(*) FROM deliveries WHERE repeats IS NULL GROUP BY event_id)
   SELECT 'event ' || l.event_id || ' was given ' || l.deliveries || ' deliveries and has ' || coalesce(found.count, 0) AS problem
   FROM branch_log l LEFT JOIN found USING (event_id)
   WHERE l.deliveries <> coalesce(found.count, 0) AND EXISTS (SELECT FROM pg_class WHERE relname = 'settled_deliveries_d' || l.day)`,
)

/** At a moment at which nothing is on its way. */
export async function findBrokenPromises(sql: Sql, now = new Date()): Promise<string[]> {
  const problems: string[] = []
  for (const question of [selectGaps, selectStuck, selectUncounted])
    for (const { problem } of await sql.query<{ problem: string }>(question)) problems.push(problem)
  // The questions that the engine's own sweeper asks, of the days whose log is still there.
  const { fromDay } = recentScope(now)
  return [...problems, ...(await findBroken(sql, now, wholeScope(fromDay))).map(printBroken)]
}
