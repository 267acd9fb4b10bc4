/** A database as the migrations of before the first release made it, from the files themselves, which stand one after the other in one script. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Database, statement } from '../../src/database/database.ts'

const script = readFileSync(new URL('../faults/earlier-migrations.sql', import.meta.url), 'utf8')
const [, ...pieces] = script.split(/^-- === (\d{4}-\S+\.sql)\n/m)

const earlierMigrations = pieces.flatMap((name, index) => {
  if (index % 2 === 1) return []
  const text = pieces[index + 1]!
  return [{ version: index / 2 + 1, name, text, checksum: createHash('sha256').update(text).digest('hex') }]
})

const createList = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)`
const record = statement('', 'INSERT INTO schema_migrations VALUES ($1, $2, $3, now())')

/** Applies those from one number up to another. */
export function applyEarlier(db: Database, { from = 1, to = earlierMigrations.length } = {}): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.script(createList)
    for (const { version, name, text, checksum } of earlierMigrations.slice(from - 1, to)) {
      await sql.script(text)
      await sql.query(record, [version, name, checksum])
    }
  })
}
