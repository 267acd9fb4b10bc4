/**
 * A database without the limits of the gateway's own connections: what fills it takes as long as the machine
 * needs.
 */
import { ask } from './ask.ts'

import type { Engine } from './engine.ts'
import { keepOpen } from './keep-open.ts'
import { openLenientDatabase } from './lenient-database.ts'

/** The same engine, for a test that fills it. */
export async function withLenientDatabase(engine: Engine): Promise<Engine> {
  const db = await keepOpen(
    openLenientDatabase({ connectionString: engine.house.databaseUrl, connections: 2 }),
  )
  return { ...engine, db, sql: (text, values = []) => ask(db, text, values) }
}
