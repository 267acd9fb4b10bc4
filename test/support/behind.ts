/**
 * Two at once, in the one order that is hard to meet by chance: the second begins when the first has done
 * everything but commit.
 */

import type { Database, Sql } from '../../src/database/database.ts'
import { ask } from './ask.ts'
import { eventually } from './eventually.ts'

const selectWaiting =
  'SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database()'

/**
 * Answers how each ended. Whoever does not wait for the first has ended before it, and nobody waits in vain
 * for that.
 */
export async function runBehind<First, Second>(
  db: Database,
  first: (db: Sql) => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, PromiseSettledResult<Second>]> {
  let behind: Promise<PromiseSettledResult<Second>> | undefined
  let hasEnded = false
  const done = await db.transaction(async (sql) => {
    const result = await first(sql)
    behind = Promise.allSettled([second()]).then(([settled]) => {
      hasEnded = true
      return settled!
    })
    await eventually(
      'the second waits, or has ended',
      async () => hasEnded || (await ask(db, selectWaiting)).length > 0,
    )
    return result
  })
  return [done, await behind!]
}
