/**
 * So many at once; the others wait for their turn, first come first served, however many they are (a fair
 * semaphore). For work that may wait as long as it likes and must not fail for having waited: a pool turns
 * away callers that would wait too long.
 */
import type { Database } from './database.ts'

export interface Turns {
  take<Result>(work: () => Promise<Result>): Promise<Result>
  /** How many wait for theirs. */
  readonly waiting: number
}

export function openTurns(atOnce: number): Turns {
  let underWay = 0
  const waiting: (() => void)[] = []
  return {
    get waiting() {
      return waiting.length
    },
    async take(work) {
      if (underWay >= atOnce) await new Promise<void>((turn) => waiting.push(turn))
      else underWay++
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else underWay--
      }
    },
  }
}

/** The same database, by turns. */
export function byTurns(db: Database, turns: Turns): Database {
  return {
    ...db,
    query: (statement, ...values) => turns.take(() => db.query(statement, ...values)),
    one: (statement, ...values) => turns.take(() => db.one(statement, ...values)),
    script: (text) => turns.take(() => db.script(text)),
    copy: (text, rows) => turns.take(() => db.copy(text, rows)),
    transaction: (work) => turns.take(() => db.transaction(work)),
    load: () => ({ ...db.load(), waiting: turns.waiting }),
  }
}
