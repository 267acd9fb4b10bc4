/** What stands beside a chart: a scale with round ends, and times that can be read at a glance. */
import { after, day, hour, minute, second } from '../../clock.ts'
import type { Html } from '../frame/html.ts'
import { tellClock, tellDay, tellSpan } from '../frame/moment.ts'

export interface Axis {
  /** The value at its upper end. */
  readonly top: number
  /** From the top down. */
  readonly labels: readonly string[]
}

/** Ends whose half is a whole number. */
export function countAxis(most: number): Axis {
  let top = 2
  for (let unit = 1; top < most; unit *= 10)
    top = [2, 4, 10].map((step) => step * unit).find((each) => each >= most) ?? 10 * unit
  return { top, labels: [top, top / 2, 0].map((each) => each.toLocaleString('en')) }
}

const roundDurations = [
  ...[
    1,
    2,
    4,
    10,
    20,
    40,
    100,
    200,
    400,
    second,
    2 * second,
    4 * second,
    10 * second,
    20 * second,
    40 * second,
  ],
  ...[
    minute,
    2 * minute,
    4 * minute,
    10 * minute,
    20 * minute,
    40 * minute,
    hour,
    2 * hour,
    4 * hour,
    12 * hour,
  ],
  ...[day, 2 * day, 4 * day, 8 * day, 16 * day],
]

export function durationAxis(mostMs: number): Axis {
  const top = roundDurations.find((each) => each >= mostMs) ?? roundDurations.at(-1)!
  return { top, labels: [printDuration(top), printDuration(top / 2), '0'] }
}

const units = [
  { ms: day, word: 'd' },
  { ms: hour, word: 'h' },
  { ms: minute, word: 'min' },
  { ms: second, word: 's' },
]

/** `1.5 s`; no more than two digits behind the point, and none where there are two before it. */
export function printDuration(ms: number): string {
  const unit = units.find((each) => ms >= each.ms) ?? { ms: 1, word: 'ms' }
  const value = ms / unit.ms
  const digits = value >= 10 || Number.isInteger(value) ? 0 : 1
  return `${value.toFixed(digits)} ${unit.word}`
}

const spanWords = new Map([
  [5 * minute, '5 minutes'],
  [hour, 'hour'],
  [6 * hour, '6 hours'],
  [day, 'day'],
])

/** How long a column is. */
export function nameSpan(columnMs: number): string {
  return spanWords.get(columnMs)!
}

/** When a column was. */
export function printSpan(columnMs: number, from: Date): Html {
  return tellSpan(from, after(from, columnMs))
}

/** Under some of the columns: when they begin. */
export function printTick(from: Date, columnMs: number): Html | undefined {
  const everyMs = { [5 * minute]: 15 * minute, [hour]: 6 * hour, [6 * hour]: day, [day]: 7 * day }[columnMs]!
  if (from.getTime() % everyMs !== 0) return undefined
  return columnMs >= 6 * hour ? tellDay(from) : tellClock(from)
}
