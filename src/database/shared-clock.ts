/**
 * The database's time, carried on by this machine's monotonic clock. All nodes agree on it to a few
 * milliseconds, so a lease or a lifetime means the same to each of them, and a wall clock that is wrong or
 * jumps moves nothing.
 */
import { type Clock, second } from '../clock.ts'
import type { Database } from './database.ts'
import { selectTime } from './server.sql.ts'

export interface SharedClock extends Clock {
  close(): void
}

const compareEveryMs = 10 * second

export async function openSharedClock(db: Database): Promise<SharedClock> {
  let { aheadMs } = await measureAhead(db)
  const compare = async () => {
    const found = await measureAhead(db)
    // What the round trip alone may explain is no difference.
    if (Math.abs(found.aheadMs - aheadMs) > found.roundTripMs) aheadMs = found.aheadMs
  }
  // While the database is away the time goes on as it was.
  const timer = setInterval(() => void compare().catch(() => {}), compareEveryMs)
  timer.unref()
  return { now: () => new Date(performance.now() + aheadMs), close: () => clearInterval(timer) }
}

/** How far the database's time is ahead of a clock of this machine, right to half a round trip. */
export async function measureAhead(
  db: Database,
  local = () => performance.now(),
): Promise<{ aheadMs: number; roundTripMs: number }> {
  const askedAt = local()
  const startedMs = performance.now()
  const { time } = await db.one(selectTime)
  const roundTripMs = performance.now() - startedMs
  return { aheadMs: time.getTime() - (askedAt + roundTripMs / 2), roundTripMs }
}
