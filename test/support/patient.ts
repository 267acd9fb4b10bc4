/**
 * A database without the limits of the gateway's own connections: what fills it takes as long as the machine
 * needs.
 */
import { ask } from './ask.ts'

import type { Engine } from './engine.ts'
import { keepOpen } from './keep-open.ts'
import { openPatiently } from './patiently.ts'

/** The same engine, for whoever fills it. */
export async function asPatient(engine: Engine): Promise<Engine> {
  const db = await keepOpen(openPatiently({ connectionString: engine.house.databaseUrl, connections: 2 }))
  return { ...engine, db, sql: (text, values = []) => ask(db, text, values) }
}
