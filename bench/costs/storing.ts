/**
 * How many bytes a row takes with its index entries, freshly packed: what lives for a while takes up to twice
 * that.
 */

import type { Database } from '../../src/database/database.ts'
import { ask } from '../../test/support/ask.ts'

const tables = ['log', 'outcomes', 'access_tokens', 'audit_entries']

/** A table with its partitions, or a table alone. */
const bytesOfRow = (table: string) =>
  `SELECT coalesce((SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('${table}')),
      pg_total_relation_size('${table}'))::float8
       / (SELECT count(*) FROM ${table}) AS bytes`

export async function measureStored(db: Database): Promise<Record<string, number>> {
  const stored: Record<string, number> = {}
  for (const table of tables) {
    await db.script(`VACUUM FULL ${table}`)
    const [row] = await ask<{ bytes: number }>(db, bytesOfRow(table))
    stored[table] = row!.bytes
  }
  return stored
}
