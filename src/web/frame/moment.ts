/**
 * Moments on pages. All are told in the zone of the visitor, which each of them names; what a visitor types
 * is meant in the zone that stands beside the field.
 */
import { type Html, html, told } from '../../text/html.ts'
import { findTimeZone, momentsOf, printOffset, type TimeZone, utc, wallClock } from '../../text/time-zone.ts'

/** Made once: to make one takes longer than to print a page of dates. */
const longDates = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})
const shortDates = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

const offsetOf = (at: Date, zone: TimeZone) => printOffset(zone.offsetMsAt(at))
const wallOf = (at: Date, zone: TimeZone) => wallClock(at, zone).toISOString()

/** `2026-03-02 10:00:00 UTC` */
export function tellSeconds(at: Date): Html {
  return told((zone) => {
    const wall = wallOf(at, zone)
    return html`${wall.slice(0, 10)} ${wall.slice(11, 19)} ${offsetOf(at, zone)}`
  })
}

/** `2 March 2026, 10:00 UTC` */
export function tellMinutes(at: Date): Html {
  return told((zone) => {
    const words = longDates.format(wallClock(at, zone))
    return html`${words}, ${wallOf(at, zone).slice(11, 16)} ${offsetOf(at, zone)}`
  })
}

/** `2 Mar, 10:15 to 10:20 UTC`; of a whole day the day alone. */
export function tellSpan(from: Date, to: Date): Html {
  return told((zone) => {
    const [start, end] = [sayClock(from, zone), sayClock(to, zone)]
    const ofDays = to.getTime() - from.getTime() >= dayMs
    const offset = offsetOf(from, zone)
    if (!ofDays) return html`${sayDay(from, zone)}, ${start} to ${end} ${offset}`
    if (start === '00:00' && end === '00:00') return html`${sayDay(from, zone)} ${offset}`
    return html`${sayDay(from, zone)}, ${start} to ${sayDay(to, zone)}, ${end} ${offset}`
  })
}

const dayMs = 86_400_000

export const tellDay = (at: Date): Html => told((zone) => html`${sayDay(at, zone)}`)
export const tellClock = (at: Date): Html => told((zone) => html`${sayClock(at, zone)}`)

const sayDay = (at: Date, zone: TimeZone) => shortDates.format(wallClock(at, zone))
const sayClock = (at: Date, zone: TimeZone) => wallOf(at, zone).slice(11, 16)

/** `Europe/Berlin, UTC+1`, as it is at the moment. */
export function tellZone(now: Date): Html {
  return told((zone) => {
    const offset = offsetOf(now, zone)
    return offset === zone.name ? html`${offset}` : html`${zone.name}, ${offset}`
  })
}

/** As a field of a form has it: to the minute, or finer where it is. */
export function printLocal(at: Date, zone: TimeZone): string {
  return wallOf(at, zone).replace(/(:00)?\.000Z$|Z$/, '')
}

/** Whether what clocks there say can mean this moment only. */
export function isPlain(at: Date, zone: TimeZone): boolean {
  return momentsOf(wallClock(at, zone), zone).length === 1
}

const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z?$/

/**
 * To the minute, or finer; with a Z at its end it is in UTC, whatever the zone. Of a moment that is none, or
 * that may be two, what is wrong with it.
 */
export function parseMoment(text: string, zoneName: string): Date | { readonly problem: string } {
  const zone = zoneName === '' || text.endsWith('Z') ? utc : findTimeZone(zoneName)
  if (!zone) return { problem: 'is in a time zone that is not known: use one such as Europe/Berlin' }
  const wall = shape.test(text) ? new Date(text.endsWith('Z') ? text : `${text}Z`) : undefined
  if (!wall || Number.isNaN(wall.getTime())) return { problem: 'must be a moment such as 2026-03-02T10:00' }
  const [at, ...others] = momentsOf(wall, zone)
  const there = `in ${zone.name}, where clocks are`
  if (!at) return { problem: `is skipped ${there} put forward: choose a time before or after that hour` }
  if (others.length > 0)
    return { problem: `comes twice ${there} put back: choose a time before or after that hour` }
  return at
}
