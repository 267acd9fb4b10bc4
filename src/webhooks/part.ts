/**
 * The branches in sixteen parts (shards). Whoever changes the unfinished deliveries of a part, be it by creating, settling,
 * canceling or expiring them, holds the part's lock until it commits: there is one writer at a time, no circle of locks, and no
 * moment at which one could miss what the other does. No hot statement touches two parts.
 */
import type { Database, Sql, Step } from '../database/database.ts'
import { lockPart, lockParts, tryLockPart, waitAtMost } from './part.sql.ts'

const partCount = 16
export const allParts: readonly number[] = Array.from({ length: partCount }, (_, part) => part)
export function partOf(branchId: number): number {
  return branchId % partCount
}

/** Waits for its turn. */
export function writeToPart<Result>(db: Database, part: number, write: (sql: Sql) => Promise<Result>): Promise<Result> {
  return writeToParts(db, [part], write)
}

const turnWithinMs = 2_000

/** For whoever has somebody waiting: fails when its turn does not come in time. */
export function writeToPartInTime<Result>(
  db: Database,
  part: number,
  write: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (sql) => {
    await Promise.all([sql.query(waitAtMost, [`${turnWithinMs}ms`]), sql.query(lockPart, [part])])
    return write(sql)
  })
}

export function writeToParts<Result>(
  db: Database,
  parts: readonly number[],
  write: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (sql) => {
    await sql.query(lockParts, [parts])
    return write(sql)
  })
}

/** Waits for its turn, too: statements that need nothing of each other's answers, in one round trip. */
export async function writeTogether<Row extends object>(
  db: Database,
  parts: readonly number[],
  steps: readonly Step[],
): Promise<Row[]> {
  const [, ...answers] = await db.together<Row>([[lockParts, [parts]], ...steps])
  return answers.flat()
}

/** Undefined when somebody else is at it. */
export function tryWritingToPart<Result>(
  db: Database,
  part: number,
  write: (sql: Sql) => Promise<Result>,
): Promise<Result | undefined> {
  return db.transaction(async (sql) => {
    const [lock] = await sql.query<{ locked: boolean }>(tryLockPart, [part])
    return lock!.locked ? write(sql) : undefined
  })
}
