/** The promises of the engine, as questions: what a test, the doctor, the fault suite and the sweeper ask. */
import { after, day as dayMs, second } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { dayOf } from './days.ts'
import * as table from './invariants.sql.ts'

export const promises = {
  chain: 'nothing waits behind what is settled or gone',
  order: 'of an entity only the first that is unfinished may go',
  event: 'what waits to be sent has an event',
  attention: 'every lane with work has somebody or a time',
  sight: 'nothing is due before the moment from which its lane is read',
  lease: 'nothing is in hand past its lease',
  cleared: 'nothing waits for a webhook that has been cleared away',
  count: 'a numbered event has a delivery for each webhook that wanted it',
  gap: 'the numbers of a branch have no gap',
  log: 'an event has a number or waits for one',
} as const

export type Promised = keyof typeof promises

export interface Broken {
  readonly promise: Promised
  readonly part: number
  readonly subject: string
}

export interface Scope {
  /** The oldest that wait in a lane, the newest in a branch's log of a day. */
  readonly most: number
  readonly fromDay: number
  /** Every single event, however many there are. */
  readonly everyEvent: boolean
}

/** Of a large house, in a second or less. */
export function recentScope(now: Date): Scope {
  return { most: 100, fromDay: dayOf(after(now, -dayMs)), everyEvent: false }
}

/** A lease ends after twelve seconds; whoever takes over looks each second. */
const leaseSlackMs = 30 * second

export async function findBroken(sql: Sql, now: Date, scope: Scope = recentScope(now)): Promise<Broken[]> {
  const { most, fromDay, everyEvent } = scope
  return [
    ...(await sql.query<Broken>(table.findBrokenLanes, [most, after(now, -leaseSlackMs)])),
    ...(await sql.query<Broken>(table.findBrokenLogs, [fromDay, most])),
    ...(everyEvent ? await sql.query<Broken>(table.findLostEvents, [fromDay]) : []),
  ]
}

export function printBroken({ promise, subject }: Broken): string {
  return `${subject}: not so that ${promises[promise]}`
}
