/** Days that lie behind: events that were published, logged, delivered and written down, as if it had happened. */
import { day as dayMs } from '../src/clock.ts'
import { dayOf, idsADay } from '../src/webhooks/days.ts'
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

/** The days that it filled, oldest first. In front of anything that is published: numbers of a branch go on where history ends. */
export async function fillHistory({ db }: GatewayUnderTest, history: History): Promise<number[]> {
  const { branchIds, endedDaysAgo = 1, days } = history
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, state, created_at, updated_at, cleared_at)
    SELECT branch_id, 'live', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], 'deleted', now(), now(), now()
    FROM unnest(ARRAY[${branchIds}]) AS branch_id, generate_series(1, ${webhooksOfBranch}) AS n`)
  const filled = Array.from({ length: days }, (_, n) =>
    dayOf(new Date(Date.now() - (endedDaysAgo + days - 1 - n) * dayMs)),
  )
  const left = filled.map((day, index) => ({ day, index }))
  const fillInTurn = async () => {
    for (let next = left.shift(); next; next = left.shift()) await db.script(printDay(history, next.day, next.index))
  }
  await Promise.all(Array.from({ length: daysAtOnce }, fillInTurn))
  await db.script('VACUUM ANALYZE')
  await db.script('CHECKPOINT')
  return filled
}

function printDay({ branchIds, deliveriesADay }: History, day: number, index: number): string {
  const ofBranch = Math.ceil(deliveriesADay / webhooksOfBranch / branchIds.length)
  const firstSequence = index * ofBranch + 1
  const midnight = `to_timestamp('20${day}', 'YYYYMMDD')`
  // Event n is the nth of all branches in turn, and its deliveries are numbered after it.
  return `
    SELECT open_day(${day});
    INSERT INTO branch_days (branch_id, environment, day, first, last)
    SELECT branch_id, 'live', ${day}, ${firstSequence}, ${firstSequence + ofBranch - 1} FROM unnest(ARRAY[${branchIds}]) AS branch_id;
    INSERT INTO events_d${day} (id, environment, branch_id, kind, action, entity, body, created_at)
    SELECT ${day * idsADay} + n, 'live', (ARRAY[${branchIds}])[1 + n % ${branchIds.length}], 'TRANSACTION', 'SUBMITTED', 'transaction:' || n,
      repeat('x', 250), ${midnight} + interval '1 day' * n / ${ofBranch * branchIds.length}
    FROM generate_series(0, ${ofBranch * branchIds.length - 1}) AS n;
    INSERT INTO branch_log_d${day} (branch_id, environment, sequence, event_id, day, deliveries)
    SELECT branch_id, 'live', ${firstSequence} + (id - ${day * idsADay}) / ${branchIds.length}, id, ${day}, ${webhooksOfBranch} FROM events_d${day};
    INSERT INTO settled_deliveries_d${day} (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at)
    SELECT ${day * idsADay} + (e.id - ${day * idsADay}) * ${webhooksOfBranch} + w.nth, w.id, e.id, e.entity, 'delivered', 1, e.created_at, e.created_at
    FROM events_d${day} e JOIN (
      SELECT id, branch_id, row_number() OVER (PARTITION BY branch_id ORDER BY id) AS nth FROM webhooks WHERE state = 'deleted') w USING (branch_id)
    WHERE w.nth <= ${webhooksOfBranch} ORDER BY e.id, w.nth;
    INSERT INTO attempts_d${day} (day, delivery_id, number, at, duration_ms, outcome, status)
    SELECT ${day}, id, 1, created_at, id % 400, 'accepted', 200 FROM settled_deliveries_d${day}`
}
