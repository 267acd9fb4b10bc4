/**
 * A feed is a branch in one environment; the feeds are in parts (shards). `part_of` and `feed_of` in the
 * migrations say the same in SQL; a test compares them.
 */
import type { Database } from '../../database/database.ts'
import type { Environment } from '../../vocabulary/environment.ts'

const partCount = 4
export const allParts: readonly number[] = Array.from({ length: partCount }, (_, part) => part)

export function partOf(branchId: number): number {
  return branchId % partCount
}

/**
 * Which pool serves a part: every statement on the engine's tables of a part goes to the pool named here. One
 * database has them all.
 */
export function poolOf(db: Database, _part: number): Database {
  return db
}

export function feedOf({
  branchId,
  environment,
}: Readonly<{ branchId: number; environment: Environment }>): number {
  return 2 * branchId + (environment === 'sandbox' ? 1 : 0)
}

export function branchOfFeed(feed: number): { readonly branchId: number; readonly environment: Environment } {
  return { branchId: Math.floor(feed / 2), environment: feed % 2 === 1 ? 'sandbox' : 'live' }
}
