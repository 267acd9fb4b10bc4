/**
 * The promises of the engine, as questions: what the sweeper, the doctor, the fault suite and the tests ask.
 */
import { after, day as dayMs, hour, minute } from '../../clock.ts'
import type { Database, Sql } from '../../database/database.ts'
import { findGoneHolders } from '../engine/gone-holders.ts'
import { findPresentParts } from '../events/away-parts.ts'
import { dayOf } from '../events/days.ts'
import { allParts } from '../events/part.ts'
import * as table from './invariants.sql.ts'

export const promises = {
  log: 'what was published has a number or waits for one',
  gap: 'the numbers of a branch have no gap',
  twice: 'an event has one number',
  lost: 'what lies below the position of a webhook has ended, was passed, or waits with its entity',
  head: 'no webhook is further than its log',
  exception: 'what fails or was asked for again is there and has not ended',
  outcome: 'a delivery ends once',
  sleep: 'no lane sleeps before something that it has to do',
  holder: 'every lane that is held has a worker',
} as const

export type PromiseName = keyof typeof promises

export interface BrokenPromise {
  readonly promise: PromiseName
  readonly part: number
  readonly subject: string
}

interface CheckedScope {
  readonly parts: readonly number[]
  /** Of each part: the newest of the log, and what lies just below the positions. */
  readonly rowsAtMost: number
  readonly fromDay: number
  /** Of the keys that publishers gave: each names events that have to be there. */
  readonly keysAtMost: number
}

/** However large the house is, and each minute. */
function recentScope(now: Date): CheckedScope {
  return { parts: allParts, rowsAtMost: 1_000, fromDay: dayOf(after(now, -dayMs)), keysAtMost: 200 }
}

/** For a person who waits for the answer. */
export function wideScope(now: Date): CheckedScope {
  return {
    ...recentScope(now),
    rowsAtMost: 10_000,
    fromDay: dayOf(after(now, -7 * dayMs)),
    keysAtMost: 2_000,
  }
}

/** All there is, in a house that is small, from a day on whose log has not left yet. */
export function wholeScope(fromDay = 0): CheckedScope {
  return { parts: allParts, rowsAtMost: 1_000_000, fromDay, keysAtMost: 1_000_000 }
}

/** The sequencer looks each second; a database that is busy may keep it for longer. */
const numberingMs = minute
/** A key is written with its events; how long its day is kept is asked of a scope. */
const keysMs = hour

/**
 * Where there are too many to look at all of them each minute: as long as two sweeps, because what passes has
 * to be seen twice.
 */
const turnMs = 2 * minute

export async function findBroken(
  db: Database,
  now: Date,
  scope: CheckedScope = recentScope(now),
): Promise<BrokenPromise[]> {
  const { parts, rowsAtMost, fromDay, keysAtMost } = scope
  const broken: BrokenPromise[] = []
  const turn = Math.floor(now.getTime() / turnMs)
  const present = new Set(await findPresentParts(db))
  for (const part of parts.filter((each) => present.has(each))) {
    const note = (found: readonly Omit<BrokenPromise, 'part'>[]) =>
      broken.push(...found.map((each) => ({ ...each, part })))
    const bounds = { part, rowsAtMost, turn }
    note(await db.query(table.findBrokenLogs, { ...bounds, fromDay }))
    note(await findNumberedTwice(db, part, rowsAtMost))
    note(await db.query(table.findBrokenExceptions, { ...bounds, fromDay }))
    note(await db.query(table.findUnnumbered, { part, before: after(now, -numberingMs) }))
    const gone = await findGoneHolders(db, part)
    note(await db.query(table.findBrokenCursors, { ...bounds, now, gone }))
  }
  // What is nowhere to be found may lie in a part that is away.
  if (present.size === allParts.length) broken.push(...(await findLost(db, now, keysAtMost)))
  return broken
}

/** What has a number no longer waits for one; where it is carried, for as long as that takes. */
async function findNumberedTwice(sql: Sql, part: number, rowsAtMost: number) {
  const waiting = await sql.query(table.selectUnnumbered, { part, most: rowsAtMost })
  const uids = waiting.map(({ uid }) => uid)
  const numbered = uids.length === 0 ? [] : await sql.query(table.selectNumbered, { part, uids })
  return numbered.map(({ uid }) => ({ promise: 'twice', subject: `event:${uid}` }) as const)
}

/**
 * What publishers have an answer for that names it is there: a database that was restored behind its
 * publishers says so here.
 */
async function findLost(sql: Sql, now: Date, keysAtMost: number): Promise<BrokenPromise[]> {
  const named = await sql.query(table.selectPublished, { since: after(now, -keysMs), most: keysAtMost })
  let unknown = named.map(({ uid }) => uid)
  for (const part of allParts) {
    if (unknown.length === 0) return []
    // Those that wait first: what gets its number meanwhile is found by the second question.
    const waiting = await sql.query(table.selectWaiting, { part, uids: unknown })
    const numbered = await sql.query(table.selectNumbered, { part, uids: unknown })
    const known = new Set([...waiting, ...numbered].map(({ uid }) => uid))
    unknown = unknown.filter((uid) => !known.has(uid))
  }
  return unknown.map((uid) => ({ promise: 'log', part: -1, subject: `event:${uid}` }))
}

export function printBroken({ promise, subject }: Pick<BrokenPromise, 'promise' | 'subject'>): string {
  return `${subject}: not so that ${promises[promise]}`
}
