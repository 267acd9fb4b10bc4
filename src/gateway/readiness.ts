/** What /readyz answers. */
import { setTimeout as wait } from 'node:timers/promises'
import { second } from '../clock.ts'
import { openFlights } from '../concurrency/single-flight.ts'
import { type Database, DatabaseUnavailable } from '../database/database.ts'
import { selectNothing } from '../database/server.sql.ts'
import { findAwayParts } from '../webhooks/events/away-parts.ts'

/** Those who ask at once share an answer. */
export function readinessOf(db: Database): () => Promise<object> {
  return openFlights(() => checkReady(db)).join
}

const readyTimeoutMs = 2 * second

/** Ready, whichever parts are away: the others are served. */
async function checkReady(db: Database): Promise<object> {
  const [partsAway] = await Promise.all([findAwayParts(db), ping(db)])
  return partsAway.length === 0 ? {} : { partsAway }
}

/** A load balancer that asks whether this node is ready wants to know soon. */
async function ping(db: Database): Promise<void> {
  const deadline = new AbortController()
  const tooLong = wait(readyTimeoutMs, undefined, deadline).then(() => {
    throw new DatabaseUnavailable('The database does not answer.')
  })
  await Promise.race([db.query(selectNothing), tooLong]).finally(() => deadline.abort())
}
