/**
 * The log of a branch in one environment: numbered without a gap, so that a partner can prove that nothing is
 * missing.
 */
import type { Sql } from '../../database/database.ts'
import type { Branch } from './branch.ts'
import { selectBounds } from './branch-logs.sql.ts'
import type { Kind } from './kind.ts'
import { readLog as readEntries } from './log.sql.ts'
import { feedOf, partOf } from './part.ts'

/** Its feed, and the part that the feed is in: every statement on a table of the engine names one part. */
export interface BranchLog {
  readonly part: number
  readonly feed: number
}

export function logOf(branch: Branch): BranchLog {
  return { part: partOf(branch.branchId), feed: feedOf(branch) }
}

/** By the part of their branches: what is asked of several parts is asked of one after the other. */
export function byPart<Owned extends Pick<Branch, 'branchId'>>(
  owned: readonly Owned[],
): ReadonlyMap<number, Owned[]> {
  return Map.groupBy(owned, ({ branchId }) => partOf(branchId))
}

export interface LoggedEvent {
  readonly sequence: number
  readonly uid: string
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  readonly body: string
  readonly simulated: boolean
  readonly createdAt: Date
}

const bytesAtOnce = 8 * 1024 * 1024

/** Each look asks one day: fewer than are wanted are no sign of the end, unless there are none. */
export async function readLog(sql: Sql, branch: Branch, after: number, most: number): Promise<LoggedEvent[]> {
  const { part, feed } = logOf(branch)
  const events: LoggedEvent[] = []
  while (events.length < most) {
    const last = events.at(-1)?.sequence ?? after
    const values = { part, feed, after: last, most: most - events.length, bytes: bytesAtOnce }
    const rows = await sql.query(readEntries, values)
    if (rows.length === 0) break
    events.push(...rows.map(({ seq, ...event }) => ({ sequence: seq, ...event })))
  }
  return events
}

/** The oldest number that is kept, and the newest that was given. */
export async function findLogBounds(sql: Sql, branch: Branch): Promise<{ first: number; last: number }> {
  const { part, feed } = logOf(branch)
  return sql.one(selectBounds, { part, feed })
}
