/** What is only to be timed leaves no trace: its transaction is undone. */
import type { Database, Sql } from '../src/database/database.ts'

/** Answers how long the work took, without the beginning and the end of its transaction. */
export async function timeUndone(db: Database, work: (sql: Sql) => Promise<void>): Promise<number> {
  let ms = 0
  const undo = new Error('undo')
  await db
    .transaction(async (sql) => {
      const started = performance.now()
      await work(sql)
      ms = performance.now() - started
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return ms
}
