/**
 * A feed is a branch in one environment; the feeds are in parts (shards). `part_of` and `feed_of` in the
 * migrations say the same in SQL; a test compares them. How many parts there are, and whether they lie on the
 * workers of a Citus, a process learns of its database when it opens it.
 */
import type { Database, Sql } from '../../database/database.ts'
import type { Server } from '../../database/hosts.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { type Layout, readLayout, readPartServers } from './layout.sql.ts'

let layout: Layout = { parts: 4, isDistributed: false }
export let allParts: readonly number[] = numbersBelow(layout.parts)

export async function learnLayout(sql: Sql): Promise<void> {
  layout = await sql.one(readLayout)
  allParts = numbersBelow(layout.parts)
  await learnServers(sql)
}

let servers: ReadonlyMap<number, Server> = new Map()

/** Asked again as long as a gateway runs: parts move while it does. */
export async function learnServers(sql: Sql): Promise<void> {
  if (!layout.isDistributed) return
  servers = new Map((await sql.query(readPartServers)).map(({ part, ...server }) => [part, server]))
}

/** Whether parts lie on other servers than what a publisher writes: then events and acts are carried there. */
export function isDistributed(): boolean {
  return layout.isDistributed
}

export function partOf(branchId: number): number {
  return branchId % layout.parts
}

/**
 * Which pool serves a part: every statement on the engine's tables of a part goes to the pool named here. One
 * database has them all, or each worker of a Citus has some. A worker that has lost one asks the one that has
 * it now.
 */
export function poolOf(db: Database, part: number): Database {
  const server = servers.get(part)
  return server ? db.at(server) : db
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

function numbersBelow(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number)
}
