import type { TestContext } from 'node:test'
import type { Sql } from '../../src/database/database.ts'
import { openLenientDatabase } from './lenient-database.ts'

/**
 * What is locked here stays so for as long as the test runs, however long that is, on a connection that
 * nobody else needs.
 */
export async function hold(
  t: TestContext,
  databaseUrl: string,
  lock: (sql: Sql) => Promise<unknown>,
): Promise<void> {
  const db = openLenientDatabase({ connectionString: databaseUrl, connections: 1 })
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await lock(sql)
    held.resolve()
    await over.promise
  })
  t.after(async () => {
    over.resolve()
    await holding
    await db.close()
  })
  await Promise.race([held.promise, holding])
}
