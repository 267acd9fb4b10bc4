/** Time zones by their IANA names: what clocks there say at a moment, and which moments they mean. */
import { day, minute } from '../clock.ts'

export interface TimeZone {
  readonly name: string
  /** Ahead of UTC. */
  offsetMsAt(at: Date): number
}

export const utc: TimeZone = { name: 'UTC', offsetMsAt: () => 0 }

const nameMost = 64
const nameShape = /^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/

/** Each takes a formatter: many names, such as in other letters, must not keep many. */
const kept = new Map<string, TimeZone>([[utc.name, utc]])
const keptAtMost = 1_000

/** Undefined for what is no zone. */
export function findTimeZone(name: string): TimeZone | undefined {
  const known = kept.get(name)
  if (known) return known
  const zone = name.length <= nameMost && nameShape.test(name) ? openTimeZone(name) : undefined
  if (!zone) return undefined
  if (kept.size >= keptAtMost) kept.clear()
  kept.set(name, zone)
  return zone
}

function openTimeZone(name: string): TimeZone | undefined {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
    return { name, offsetMsAt: (at) => readOffset(format.formatToParts(at)) }
  } catch {
    return undefined
  }
}

/** `GMT`, `GMT+05:30`, and `GMT-04:56:02` of the years before there were zones. */
function readOffset(parts: readonly Intl.DateTimeFormatPart[]): number {
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(text) ?? []
  const ms = (Number(hours) * 60 + Number(minutes)) * minute + Number(seconds) * 1_000
  return sign === '-' ? -ms : ms
}

/** `UTC+5:30`. */
export function printOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / minute)
  if (minutes === 0) return 'UTC'
  const rest = minutes % 60 === 0 ? '' : `:${String(minutes % 60).padStart(2, '0')}`
  return `UTC${offsetMs < 0 ? '-' : '+'}${Math.floor(minutes / 60)}${rest}`
}

/** What clocks there say, as a moment of which the UTC parts are to be read. */
export function wallClock(at: Date, zone: TimeZone): Date {
  return new Date(at.getTime() + zone.offsetMsAt(at))
}

/**
 * The moments at which clocks there say this: one as a rule; none in the hour that is skipped when they go
 * forward; two in the hour that comes twice when they go back.
 */
export function momentsOf(wall: Date, zone: TimeZone): readonly Date[] {
  const around = [-day, day].map((ms) => zone.offsetMsAt(new Date(wall.getTime() + ms)))
  return [...new Set(around)]
    .map((offsetMs) => new Date(wall.getTime() - offsetMs))
    .filter((at) => wallClock(at, zone).getTime() === wall.getTime())
    .sort((one, other) => one.getTime() - other.getTime())
}
