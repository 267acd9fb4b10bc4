/** The promises of the engine, as questions: what the sweeper, the doctor, the fault suite and the tests ask. */
import { after, day as dayMs, second } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { dayOf } from './days.ts'
import * as table from './invariants.sql.ts'
import { allParts } from './part.ts'

export const promises = {
  chain: 'nothing waits behind what is settled or gone',
  order: 'of an entity only the first that is unfinished may go',
  event: 'what waits to be sent has an event',
  attention: 'every lane with work has somebody or a time',
  sight: 'nothing is due before the moment from which its lane is read',
  lease: 'nothing is in hand past its lease',
  cleared: 'nothing waits for a webhook that has been cleared away',
  count: 'every delivery that was made of a numbered event is there',
  wanted: 'a numbered event has a delivery for each webhook that wanted it',
  gap: 'the numbers of a branch have no gap',
  log: 'an event has a number or waits for one',
} as const

export type Promised = keyof typeof promises

export interface Broken {
  readonly promise: Promised
  readonly part: number
  readonly subject: string
}

interface CheckedScope {
  readonly parts: readonly number[]
  /** Of each part: the oldest that wait, and the newest of the log. */
  readonly rowsAtMost: number
  readonly fromDay: number
  /** Every single event, however many there are. */
  readonly everyEvent: boolean
}

/** However large the house is, and each minute. */
export function recentScope(now: Date): CheckedScope {
  return { parts: allParts, rowsAtMost: 2_000, fromDay: dayOf(after(now, -dayMs)), everyEvent: false }
}

/** For somebody who waits for the answer. */
export function wideScope(now: Date): CheckedScope {
  return { ...recentScope(now), rowsAtMost: 10_000, fromDay: dayOf(after(now, -7 * dayMs)) }
}

/** All there is, in a house that is small, from a day on whose log has not left yet. */
export function wholeScope(fromDay = 0): CheckedScope {
  return { parts: allParts, rowsAtMost: 1_000_000, fromDay, everyEvent: true }
}

/** A lease ends after twelve seconds; whoever takes over looks each second. */
const leaseSlackMs = 30 * second

export async function findBroken(sql: Sql, now: Date, scope: CheckedScope = recentScope(now)): Promise<Broken[]> {
  const { parts, rowsAtMost, fromDay, everyEvent } = scope
  const broken: Broken[] = []
  for (const part of parts) {
    broken.push(...(await sql.query<Broken>(table.findBrokenLanes, [part, rowsAtMost, after(now, -leaseSlackMs)])))
    broken.push(...(await sql.query<Broken>(table.findBrokenLogs, [part, rowsAtMost, fromDay])))
    if (everyEvent) broken.push(...(await sql.query<Broken>(table.findLostEvents, [part, fromDay])))
  }
  return broken
}

export function printBroken({ promise, subject }: Pick<Broken, 'promise' | 'subject'>): string {
  return `${subject}: not so that ${promises[promise]}`
}
