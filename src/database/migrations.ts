/**
 * Plain numbered SQL, forward only. Several nodes may start at once: one migrates, the others wait for it. A schema
 * newer than this code is refused, and so is a migration whose text changed after it was applied.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { type Database, type Sql, statement } from './database.ts'

interface Migration {
  readonly version: number
  readonly name: string
  readonly text: string
  readonly checksum: string
}

const folder = new URL('../../migrations/', import.meta.url)
const advisoryLock = 7_267_101

const lock = statement('lock_migrations', 'SELECT pg_advisory_xact_lock($1)')
const findApplied = statement('find_applied', 'SELECT version, checksum FROM schema_migrations ORDER BY version')
const recordApplied = statement(
  'record_applied',
  'INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, now())',
)

/** Applies what is missing and answers its names. */
export async function migrate(db: Database, migrations = readMigrations()): Promise<string[]> {
  return db.transaction(async (sql) => {
    await sql.query(lock, [advisoryLock])
    await sql.script(`CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)`)
    const missing = await findMissing(sql, migrations)
    for (const migration of missing) {
      await sql.script(migration.text)
      await sql.query(recordApplied, [migration.version, migration.name, migration.checksum])
    }
    return missing.map((migration) => migration.name)
  })
}

async function findMissing(sql: Sql, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = await sql.query<{ version: number; checksum: string }>(findApplied)
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const { version, checksum } of applied) {
    const migration = known.get(version)
    if (!migration) {
      throw new Error(
        `The database has schema version ${version}, which this release does not know (it knows up to ${migrations.at(-1)?.version}). ` +
          'Start the newer release that made it.',
      )
    }
    if (migration.checksum !== checksum) {
      throw new Error(`Migration ${migration.name} was changed after it had been applied. Restore its text.`)
    }
  }
  const done = new Set(applied.map(({ version }) => version))
  return migrations.filter((migration) => !done.has(migration.version))
}

export function readMigrations(): Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8')
      return {
        version: Number(name.slice(0, 4)),
        name,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      }
    })
}
