/**
 * What grows is kept by the day. An id carries its day (2611150000000042 is of 15 November 2026), so that whoever has an id knows
 * which partition to ask. Days are opened ahead of time by the housekeeping, and at once by whoever needs one that is missing.
 */
import { after, day as dayMs } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { openDay } from './days.sql.ts'

export const idsADay = 10_000_000_000
/** Partitions that are there before their day begins. */
const daysAhead = 2

export interface Day {
  /** Two digits of the year, month, day. */
  readonly day: number
  readonly deliveryOffset: number
}

export interface Days {
  open(day: number): Promise<Day>
  /** Whether it has been seen open. */
  knows(day: number): boolean
}

/** Numbers of later days would not fit. */
export const lastDay = 900_101

/** 0 for what lies before this century: nothing does, but somebody may ask for it. As `day_of` in SQL. */
export function dayOf(at: Date): number {
  const year = at.getUTCFullYear()
  if (year < 2000 || year >= 2090) return year < 2000 ? 0 : lastDay
  return ((year % 100) * 100 + at.getUTCMonth() + 1) * 100 + at.getUTCDate()
}

/** 0 for what is older than the counting of days. */
export function dayOfId(id: number): number {
  return Math.floor(id / idsADay)
}

/** Today's and the next, before anybody needs them. */
export async function openDaysAhead(sql: Sql, now: Date): Promise<void> {
  for (let ahead = 0; ahead <= daysAhead; ahead++) await sql.query(openDay, [dayOf(after(now, ahead * dayMs))])
}

/** Remembers the days that it has seen: what is open stays so until it is old. */
export function openDays(sql: Sql): Days {
  const known = new Map<number, Day>()
  return {
    knows: (day) => known.has(day),
    async open(day) {
      const opened = known.get(day) ?? (await sql.query<Day>(openDay, [day]))[0]!
      known.set(day, opened)
      return opened
    },
  }
}

/** Of the ids of a day, written out: the plan then has that day's partition alone, or none if the day has left. */
export function isOfDay(column: string, day: number): string {
  return `${column} >= ${day * idsADay} AND ${column} < ${(day + 1) * idsADay}`
}

/** Days this young are there, whatever is retired: retention counts in days. */
export function isYoung(day: number, now: Date): boolean {
  return day >= dayOf(after(now, -dayMs))
}
