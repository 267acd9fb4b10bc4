/**
 * What the engine promises, held against what is stored and what was received. For the fault suite and the
 * simulated quarter alike; none is the only good answer.
 */

import type { Database } from '../../src/database/database.ts'
import { allParts, poolOf } from '../../src/webhooks/events/part.ts'
import { findBroken, printBroken, wholeScope } from '../../src/webhooks/health/invariants.ts'
import { ask } from './ask.ts'

/**
 * Of one webhook: an entity's events first arrive in the order of their places. Answers those that another
 * had overtaken.
 */
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
const selectGaps = `SELECT 'the log of feed ' || feed || ' has a gap on day ' || day AS problem FROM (
     SELECT d.feed, d.day, d.first, l.kept, l.lowest, l.highest, lead(d.first) OVER (PARTITION BY d.feed
       ORDER BY d.day) AS next
     FROM feed_days d CROSS JOIN LATERAL (
       SELECT count(*) AS kept, min(seq) AS lowest, max(seq) AS highest FROM log
         WHERE part = $1 AND feed = d.feed AND day = d.day) l
     WHERE d.part = $1 AND d.day > 0) days
   WHERE kept > 0 AND (lowest <> first OR highest - lowest + 1 <> kept OR next <> highest + 1)`

/**
 * An entity that fails is tried from its first unfinished entry on: one that has ended would hold up the
 * others for ever.
 */
const selectStuck = `SELECT 'delivery ' || x.webhook_id || '-' || x.seq || ' has ended, and others wait behind it' AS problem
    FROM exceptions x
   WHERE x.part = $1 AND EXISTS (SELECT FROM outcomes o WHERE o.part = $1 AND o.webhook_id = x.webhook_id
     AND o.seq = x.seq AND o.round = 0 AND o.state <> 'retrying')`

/** Each entry lies in the day that is named for its number: who looks for it there finds it. */
const selectMisplaced = `SELECT 'entry ' || seq || ' of feed ' || feed || ' lies in day ' || day || ', where nobody looks for it' AS
    problem FROM log l
   WHERE l.part = $1 AND day IS DISTINCT FROM (SELECT max(d.day) FROM feed_days d WHERE d.part = $1
     AND d.feed = l.feed AND d.first <= l.seq)`

const selectOrphans = `SELECT 'webhook ' || webhook_id || ' has no cursor, and something of it waits' AS problem FROM (
     SELECT webhook_id FROM exceptions WHERE part = $1 UNION SELECT webhook_id FROM agains WHERE part = $1
       UNION SELECT webhook_id FROM replay_cursors WHERE part = $1) waiting
   WHERE NOT EXISTS (SELECT FROM cursors c WHERE c.part = $1 AND c.webhook_id = waiting.webhook_id)`

/** At a moment at which nothing is on its way. */
export async function findBrokenPromises(db: Database, now = new Date()): Promise<string[]> {
  const problems: string[] = []
  for (const part of allParts)
    for (const question of [selectGaps, selectStuck, selectMisplaced, selectOrphans])
      for (const { problem } of await ask<{ problem: string }>(poolOf(db, part), question, [part]))
        problems.push(problem)
  // The questions that the engine's own sweeper asks, of everything that is still there.
  return [...problems, ...(await findBroken(db, now, wholeScope())).map(printBroken)]
}
