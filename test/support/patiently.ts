/**
 * The database for a test: whoever else the machine is busy with, nothing is given up that would have come.
 */
import { type Database, openDatabase } from '../../src/database/database.ts'
import type { PoolOptions } from '../../src/database/pool.ts'

/**
 * For a gateway, too: what it does when the database is late is the matter of those tests that leave it
 * production's limit.
 */
export const databaseTimeoutMs = 60_000

export function openPatiently(options: PoolOptions): Database {
  return openDatabase({ connectTimeoutMs: databaseTimeoutMs, stillTimeoutMs: databaseTimeoutMs, ...options })
}
