/**
 * The database's time, carried on by this machine's monotonic clock. All nodes agree on it to a few milliseconds, so a lease or a
 * lifetime means the same to each of them, and a wall clock that is wrong or jumps moves nothing.
 */
import { type Clock, second } from '../clock.ts'
import { type Database, statement } from './database.ts'

export interface SharedClock extends Clock {
  close(): void
}

const compareEveryMs = 10 * second

const selectTime = statement('select_time', 'SELECT clock_timestamp() AS time')

export async function openSharedClock(db: Database): Promise<SharedClock> {
  let { aheadMs } = await measure(db)
  const compare = async () => {
    const found = await measure(db)
    // What the round trip alone may explain is no difference.
    if (Math.abs(found.aheadMs - aheadMs) > found.roundTripMs) aheadMs = found.aheadMs
  }
  // While the database is away the time goes on as it was.
  const timer = setInterval(() => void compare().catch(() => {}), compareEveryMs)
  timer.unref()
  return { now: () => new Date(performance.now() + aheadMs), close: () => clearInterval(timer) }
}

/** How far the database's time is ahead of the monotonic clock, right to half a round trip. */
async function measure(db: Database): Promise<{ aheadMs: number; roundTripMs: number }> {
  const askedAt = performance.now()
  const [row] = await db.query<{ time: Date }>(selectTime)
  const roundTripMs = performance.now() - askedAt
  return { aheadMs: row!.time.getTime() - (askedAt + roundTripMs / 2), roundTripMs }
}
