/** How many bytes a row takes with its index entries, freshly packed: what lives for a while takes up to twice that. */
import { type Database, statement } from '../../src/database/database.ts'

const tables = ['events', 'branch_log', 'deliveries', 'attempts', 'access_tokens', 'audit_entries']

export async function measureStored(db: Database): Promise<Record<string, number>> {
  const stored: Record<string, number> = {}
  for (const table of tables) {
    await db.script(`VACUUM FULL ${table}`)
    const size = statement('', `SELECT pg_total_relation_size('${table}')::float8 / count(*) AS bytes FROM ${table}`)
    const [row] = await db.query<{ bytes: number }>(size)
    stored[table] = row!.bytes
  }
  return stored
}
