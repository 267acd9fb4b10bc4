/**
 * The database for a test, with timeouts that a busy machine does not reach.
 */
import { type Database, openDatabase } from '../../src/database/database.ts'
import type { PoolOptions } from '../../src/database/pool.ts'

/**
 * For gateways under test too: only tests of a late database leave a gateway production's timeout.
 */
export const databaseTimeoutMs = 60_000

export function openLenientDatabase(options: PoolOptions): Database {
  return openDatabase({ connectTimeoutMs: databaseTimeoutMs, stillTimeoutMs: databaseTimeoutMs, ...options })
}
