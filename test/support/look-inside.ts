import type { Database, Sql } from '../../src/database/database.ts'
import type { NumberedBatch } from '../../src/webhooks/events/numbered-batch.ts'
import { isDistributed } from '../../src/webhooks/events/part.ts'
import { lookAt } from '../../src/webhooks/events/sequencer.ts'

interface Look extends NumberedBatch {
  readonly isMore: boolean
}

export async function lookOnce(db: Database, part: number, now: Date): Promise<Look> {
  let batch: NumberedBatch = { part, entries: [], woken: 0 }
  const numbered = (each: NumberedBatch) => {
    batch = each
  }
  const isMore = await lookAt(db, part, { now, numbered })
  return { ...batch, isMore }
}

/**
 * In the transaction that published, before any sequencer sees it. Where the part lies on another server, it
 * has there what was published before this transaction commits.
 */
export function lookInside(db: Database, sql: Sql, part: number, now: Date): Promise<NumberedBatch> {
  return lookOnce({ ...db, ...sql, transaction: (work) => work(sql) }, part, now)
}

/** Everything that was published, and every act before it. Answers the events. */
export async function lookAtAll(
  db: Database,
  part: number,
  now: Date,
): Promise<NumberedBatch['entries'][number][]> {
  const { entries, isMore } = await lookOnce(db, part, now)
  return isMore ? [...entries, ...(await lookAtAll(db, part, now))] : [...entries]
}

/** So many at most. */
export function lookAtSome(db: Database, part: number, now: Date, most: number): Promise<NumberedBatch> {
  const few = <Of extends Sql>(sql: Of): Of => ({
    ...sql,
    query: (...[statement, values]: Parameters<Sql['query']>) =>
      sql.query(statement, statement.parameters.includes('most') ? { ...(values as object), most } : values),
  })
  return lookOnce({ ...few(db), transaction: (work) => db.transaction((sql) => work(few(sql))) }, part, now)
}

/**
 * In a transaction of the server that has the part, which keeps the locks of a look until it ends. Where the
 * outbox lies elsewhere, it keeps what was appended: as a carrier leaves it that ends in between.
 */
export async function lookHolding(db: Database, sql: Sql, part: number, now: Date): Promise<NumberedBatch> {
  if (!isDistributed()) return lookInside(db, sql, part, now)
  const there: Database = { ...db, ...sql }
  const leaving: Database = { ...db, at: () => there, transaction: (work) => undo(db, work) }
  return lookOnce(leaving, part, now)
}

class Undone extends Error {}

/** What it did here is undone; what it did on other servers stays. */
export async function undo<Result>(db: Database, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const done = Promise.withResolvers<Result>()
  const undoing = db.transaction(async (sql) => {
    done.resolve(await work(sql))
    throw new Undone()
  })
  await undoing.catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error
  })
  return done.promise
}
