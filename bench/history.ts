/**
 * Days that lie behind: events that were published, logged, delivered and written down, as if it had
 * happened.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { day as dayMs } from '../src/clock.ts'
import type { Database } from '../src/database/database.ts'
import { dayOf } from '../src/webhooks/events/days.ts'
import type { GatewayUnderTest } from './gateway.ts'

export interface History {
  readonly branchIds: readonly number[]
  /** How many days ago it ended; yesterday, if not said. */
  readonly endedDaysAgo?: number
  readonly days: number
  readonly deliveriesADay: number
}

/** Webhooks that each branch had, all deleted since: what lives now has no part in it. */
const webhooksOfBranch = 5
const daysAtOnce = 2
const heardMs = 1_000

/**
 * The days that it filled, oldest first. In front of anything that is published: numbers of a branch go on
 * where history ends.
 */
export async function fillHistory({ db }: GatewayUnderTest, history: History): Promise<number[]> {
  const { branchIds, endedDaysAgo = 1, days } = history
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, state, created_at, updated_at)
    SELECT branch_id, 'live', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], 'paused', now(), now()
    FROM unnest(ARRAY[${branchIds}]) AS branch_id, generate_series(1, ${webhooksOfBranch}) AS n;
    UPDATE webhooks SET state = 'deleted' WHERE branch_id = ANY (ARRAY[${branchIds}]) AND state = 'paused'`)
  await leaveBehind(db, history)
  const filled = Array.from({ length: days }, (_, n) =>
    dayOf(new Date(Date.now() - (endedDaysAgo + days - 1 - n) * dayMs)),
  )
  const left = filled.map((day, index) => ({ day, index }))
  const fillInTurn = async () => {
    for (let next = left.shift(); next; next = left.shift())
      await db.script(printDay(history, next.day, next.index))
  }
  await Promise.all(Array.from({ length: daysAtOnce }, fillInTurn))
  await db.script('VACUUM ANALYZE')
  await db.script('CHECKPOINT')
  return filled
}

/**
 * What lives now has no part in it: their cursors are behind it, and lanes that are held know that before
 * there is anything to read.
 */
async function leaveBehind(db: Database, { branchIds, days, ...history }: History): Promise<void> {
  const last = days * eventsOfBranch({ branchIds, days, ...history })
  await db.script(`
    WITH behind AS (
      UPDATE cursors SET position = ${last}, epoch = epoch + 1
      WHERE feed = ANY (ARRAY(SELECT feed_of(branch_id, 'live') FROM unnest(ARRAY[${branchIds}]) AS branch_id))
      RETURNING webhook_id)
    SELECT announce('webhook:' || webhook_id) FROM behind`)
  await wait(heardMs)
}

/** A day. */
function eventsOfBranch({ branchIds, deliveriesADay }: History): number {
  return Math.ceil(deliveriesADay / webhooksOfBranch / branchIds.length)
}

function printDay(history: History, day: number, index: number): string {
  const { branchIds } = history
  const ofBranch = eventsOfBranch(history)
  const firstSequence = index * ofBranch + 1
  const midnight = `to_timestamp('20${day}', 'YYYYMMDD')`
  // Event n is the nth of all branches in turn.
  return `
    SELECT open_day(${day});
    INSERT INTO feed_days (part, feed, first, day)
    SELECT part_of(branch_id), feed_of(branch_id, 'live'), ${firstSequence}, ${day}
      FROM unnest(ARRAY[${branchIds}]) AS branch_id;
    INSERT INTO log_d${day} (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
    SELECT part_of(branch_id), feed_of(branch_id, 'live'), ${firstSequence} + n / ${branchIds.length}, ${day},
      false,
      ${midnight} + interval '1 day' * n / ${ofBranch * branchIds.length}, gen_random_uuid(), 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, repeat('x', 250)
    FROM generate_series(0, ${ofBranch * branchIds.length - 1}) AS n,
      LATERAL (SELECT (ARRAY[${branchIds}])[1 + n % ${branchIds.length}] AS branch_id) b;
    INSERT INTO outcomes_d${day} (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
      outcome)
    SELECT l.part, w.id, l.seq, 0, 1, ${day}, l.created_at, l.seq % 400, 200, 'delivered', 'accepted'
    FROM log_d${day} l JOIN webhooks w ON l.feed = feed_of(w.branch_id, 'live') AND w.state = 'deleted'`
}
