/**
 * A period in columns of equal time, for charts. Columns begin with the clock: five minutes, an hour, six
 * hours, a day by the time of Greenwich.
 */
import { day, hour, minute } from '../../clock.ts'

export const periods = {
  hour: { columns: 12, columnMs: 5 * minute },
  day: { columns: 24, columnMs: hour },
  '7days': { columns: 28, columnMs: 6 * hour },
  '30days': { columns: 30, columnMs: day },
} as const

export type Period = keyof typeof periods

export function isPeriod(word: unknown): word is Period {
  return typeof word === 'string' && Object.hasOwn(periods, word)
}

/** What is done at this very moment belongs to the last column, which is not over yet. */
export function startOf(period: Period, now: Date): Date {
  const { columns, columnMs } = periods[period]
  return new Date((Math.floor(now.getTime() / columnMs) - columns + 1) * columnMs)
}
