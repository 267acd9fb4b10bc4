/**
 * What grows is kept by the day: two digits of the year, month, day. Days are opened ahead of time by the
 * housekeeping.
 */
import { after, day as dayMs } from '../../clock.ts'
import type { Sql } from '../../database/database.ts'
import { openDay } from './days.sql.ts'

/** Partitions that are there before their day begins. */
const daysAhead = 2

/** Later days would not fit. */
const lastDay = 900_101

/**
 * 0 for what lies before this century: no event does, but a caller may ask for such a day. As `day_of` in
 * SQL.
 */
export function dayOf(at: Date): number {
  const year = at.getUTCFullYear()
  if (year < 2000 || year >= 2090) return year < 2000 ? 0 : lastDay
  return ((year % 100) * 100 + at.getUTCMonth() + 1) * 100 + at.getUTCDate()
}

/** Today's and the next, before a publisher needs them. */
export async function openDaysAhead(sql: Sql, now: Date): Promise<void> {
  for (let ahead = 0; ahead <= daysAhead; ahead++)
    await sql.query(openDay, { day: dayOf(after(now, ahead * dayMs)) })
}
