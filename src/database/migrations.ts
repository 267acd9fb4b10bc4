/**
 * Plain numbered SQL, forward only. Several nodes may start at once: one migrates, the others wait for it. A
 * schema newer than this code is refused, and so is one that was made by other texts than those of
 * migrations/. test/operating/released-migrations.test.ts keeps the texts that a release has had.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf, messageOf } from '../text/thrown.ts'
import { advisoryLocks } from './advisory-locks.ts'
import { bool, int, text } from './column.ts'
import { type Database, isBlocked, type Sql } from './database.ts'
import { statement } from './statement.ts'

interface AppliedMigration {
  readonly version: number
  readonly checksum: string
}

export interface Migration {
  readonly version: number
  readonly name: string
  readonly text: string
  readonly checksum: string
}

const folder = new URL('../../migrations/', import.meta.url)

const lock = statement({
  name: 'lock_migrations',
  takes: { lock: int },
  text: 'SELECT pg_advisory_xact_lock(:lock)',
})
const findApplied = statement({
  name: 'find_applied',
  gives: { version: int, checksum: text },
  text: 'SELECT version, checksum FROM schema_migrations ORDER BY version',
})
const recordApplied = statement({
  name: 'record_applied',
  takes: { version: int, name: text, checksum: text },
  text: `INSERT INTO schema_migrations (version, name, checksum, applied_at)
    VALUES (:version, :name, :checksum, now())`,
})
/** For the migration that makes the parts of the engine: how many there shall be. */
const chooseParts = statement({
  name: 'choose_parts',
  takes: { parts: text },
  text: "SELECT set_config('countersign.parts', :parts, true)",
})
const isCoordinator = `EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`
const findUndistributed = statement({
  name: 'find_undistributed',
  gives: { exists: bool },
  text: `SELECT ${isCoordinator} AND NOT is_distributed() AS exists`,
})
const distribute = statement({
  name: 'distribute_engine',
  text: `SELECT distribute_engine() WHERE ${isCoordinator} AND NOT is_distributed()`,
})
const findTable = statement({
  name: 'find_migrations_table',
  gives: { exists: bool },
  text: "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists",
})

/**
 * Nodes of the release before are at work meanwhile. While a migration waits for a lock of theirs, every
 * later transaction waits behind it: so it waits only so long, is undone and tried again.
 */
const lockTimeoutMs = 2_000
const triesAtMost = 30
/** Shards of the engine; those of one node at a time are enough for most. */
const partsUnlessChosen = 4
const pauseMs = 500

/** Applies what is missing and answers its names. */
export async function migrate(
  db: Database,
  migrations = readMigrations(),
  parts = partsUnlessChosen,
  run = runWhole,
): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await migrateOnce(db, migrations, parts, run)
    } catch (error) {
      if (tries === triesAtMost || !isBlocked(error)) throw error
      await wait(pauseMs)
    }
  }
}

/**
 * Most starts find nothing to do, and ask without waiting for a process that migrates: what its transaction
 * does is seen whole or not at all.
 */
export async function isMigrated(sql: Sql, migrations = readMigrations()): Promise<boolean> {
  const table = await sql.one(findTable)
  if (!table.exists || findMissing(await sql.query(findApplied), migrations).length > 0) return false
  return !(await sql.one(findUndistributed)).exists
}

/** How the text of a migration is run, in the transaction of all of them. */
export type RunMigration = (sql: Sql, migration: Migration) => Promise<void>

const runWhole: RunMigration = (sql, migration) => apply(sql, migration.text)

function migrateOnce(
  db: Database,
  migrations: readonly Migration[],
  parts: number,
  run: RunMigration,
): Promise<string[]> {
  return db.transaction(async (sql) => {
    await sql.query(lock, { lock: advisoryLocks.migrations })
    await sql.script(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
    // Asked for first: a role that may not create anything may still start where there is nothing to create.
    const table = await sql.one(findTable)
    if (!table.exists) await apply(sql, createTable)
    const missing = findMissing(await sql.query(findApplied), migrations)
    await sql.query(chooseParts, { parts: String(parts) })
    for (const migration of missing) {
      await run(sql, migration)
      await sql.query(recordApplied, migration)
    }
    if (migrations.some(({ text }) => text.includes('distribute_engine()'))) await sql.query(distribute)
    return missing.map((migration) => migration.name)
  })
}

const createTable = `CREATE TABLE schema_migrations (
  version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)`

const notAllowed = '42501'

async function apply(sql: Sql, text: string): Promise<void> {
  try {
    await sql.script(text)
  } catch (error) {
    if (codeOf(error) !== notAllowed) throw error
    throw new Error(
      `The database has to be migrated, and the role of DATABASE_URL may not (${messageOf(error)}). ` +
        'Run "countersign migrate" as the role that owns the tables.',
    )
  }
}

/** Those that a start would apply; undefined where the database has no tables yet. */
export async function findPending(
  sql: Sql,
  migrations = readMigrations(),
): Promise<readonly Migration[] | undefined> {
  const table = await sql.one(findTable)
  return table.exists ? findMissing(await sql.query(findApplied), migrations) : undefined
}

export type SchemaState =
  | { readonly kind: 'empty' }
  | { readonly kind: 'current'; readonly version: number }
  | { readonly kind: 'behind' | 'newer'; readonly version: number; readonly wanted: number }
  | { readonly kind: 'changed'; readonly name: string }

/** What a start would find, without changing anything. */
export async function inspectSchema(sql: Sql, migrations = readMigrations()): Promise<SchemaState> {
  const table = await sql.one(findTable)
  const applied = table.exists ? await sql.query(findApplied) : []
  const version = applied.at(-1)?.version
  if (version === undefined) return { kind: 'empty' }
  const wanted = migrations.at(-1)?.version ?? 0
  const known = new Map(applied.map((each) => [each.version, each.checksum]))
  const changed = migrations.find(
    (each) => known.has(each.version) && known.get(each.version) !== each.checksum,
  )
  if (changed) return { kind: 'changed', name: changed.name }
  if (version > wanted) return { kind: 'newer', version, wanted }
  return version < wanted ? { kind: 'behind', version, wanted } : { kind: 'current', version }
}

function findMissing(applied: readonly AppliedMigration[], migrations: readonly Migration[]): Migration[] {
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
      throw new Error(
        `Migration ${migration.name} is not the one that made this database: run the release that did, ` +
          'or start with an empty database (another DATA_DIR or DATABASE_URL).',
      )
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
