/** Who waits for somebody else's lock, on whichever server that is. */
import type { Database } from '../../src/database/database.ts'
import { allParts, poolOf } from '../../src/webhooks/events/part.ts'
import { ask } from './ask.ts'

/** The database, and where parts lie on other servers those. */
export function serversOf(db: Database): Database[] {
  return [...new Set([db, ...allParts.map((part) => poolOf(db, part))])]
}

const selectWaiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND query LIKE $1`

/** In a statement like this, as it stands where it waits. */
export async function isWaiting(db: Database, like = '%'): Promise<boolean> {
  const found = await Promise.all(serversOf(db).map((server) => ask(server, selectWaiting, [like])))
  return found.flat().length > 0
}
