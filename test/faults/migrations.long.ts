/**
 * The schema: several nodes may start at once, and nothing starts on a schema that it does not understand.
 */

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { endGateway, runCommand, startGateway } from '../support/process.ts'

const names = readMigrations().map((migration) => migration.name)
const databases: TestDatabase[] = []
const pools: Database[] = []
let url: string

beforeEach(async () => {
  const database = await openTestDatabase({ empty: true })
  databases.push(database)
  url = database.url
})
after(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
  for (const database of databases) await database.close()
})

/** A node's own connections. */
function connect(): Database {
  const db = openLenientDatabase({ connectionString: url, connections: 2 })
  pools.push(db)
  return db
}

const settings = () => ({ DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') })

function written(version: number, text: string) {
  const name = `${String(version).padStart(4, '0')}-test.sql`
  return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') }
}

async function findTables(db: Database): Promise<string[]> {
  const rows = await ask<{ tablename: string }>(
    db,
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
  )
  return rows.map((row) => row.tablename)
}

test('migrations are numbered without gaps or doubles', () => {
  assert.deepEqual(
    readMigrations().map((migration) => migration.version),
    names.map((_, index) => index + 1),
  )
})

test('of ten starters at once one migrates, and all of them find the finished schema', async () => {
  const starters = Array.from({ length: 10 }, connect)
  const applied = await Promise.all(starters.map((db) => migrate(db)))
  assert.deepEqual(
    applied.filter((each) => each.length > 0),
    [names],
  )
  for (const db of starters) assert.equal((await ask(db, 'SELECT FROM audit_blocks')).length, 0)
})

test('two gateways and a command that start at once on an empty database all work', async () => {
  const shared = settings()
  const [left, right, made] = await Promise.all([
    startGateway(shared),
    startGateway(shared),
    runCommand(['source', 'create', 'crm', '--json'], shared),
  ])
  await Promise.all([endGateway(left), endGateway(right)])
  assert.equal(made.json<{ name: string }>().name, 'crm')
})

test('a schema newer than the release is refused, by a gateway and by a command, in a sentence', async () => {
  const db = connect()
  await migrate(db)
  const newest = readMigrations().at(-1)!.version
  await ask(db, `INSERT INTO schema_migrations VALUES (${newest + 1}, 'of-tomorrow.sql', 'checksum', now())`)
  const sentence = `The database has schema version ${newest + 1}, which this release does not know (it knows up to ${newest}). Start the newer release that made it.\n`
  for (const words of [['serve'], ['partner', 'list']]) {
    const refused = await runCommand(words, settings())
    assert.deepEqual({ code: refused.code, stderr: refused.stderr }, { code: 1, stderr: sentence })
  }
})

const otherMaker = (name: string) =>
  `Migration ${name} is not the one that made this database: run the release that did, or start with an empty database (another DATA_DIR or DATABASE_URL).`

test('a migration whose text changed after it was applied is refused by name', async () => {
  const db = connect()
  await migrate(db)
  const changed = readMigrations().map((migration) =>
    migration.version === 2
      ? { ...written(2, `${migration.text}\n-- later`), name: migration.name }
      : migration,
  )
  await assert.rejects(migrate(db, changed), new Error(otherMaker(names[1]!)))
  await ask(db, "UPDATE schema_migrations SET checksum = 'other' WHERE version = 1")
  const refused = await runCommand(['migrate'], settings())
  assert.equal(refused.code, 1)
  assert.equal(refused.stderr, `${otherMaker(names[0]!)}\n`)
})

test('a database of before the first release is refused with the remedy, whoever asks, and stays as it is', async () => {
  const db = connect()
  await migrate(db, [])
  await ask(
    db,
    `INSERT INTO schema_migrations SELECT n, lpad(n::text, 4, '0') || '-of-before.sql', md5(n::text), now()
      FROM generate_series(1, 24) n`,
  )
  for (const words of [['serve'], ['migrate'], ['partner', 'list']]) {
    const refused = await runCommand(words, settings())
    assert.deepEqual([refused.code, refused.stderr], [1, `${otherMaker(names[0]!)}\n`], words.join(' '))
  }
  assert.deepEqual(await findTables(db), ['schema_migrations'])
})

test('a migration that fails leaves the schema as it was, with those before it undone', async () => {
  const db = connect()
  const good = written(1, 'CREATE TABLE good (id integer)')
  await assert.rejects(migrate(db, [good, written(2, 'CREATE TABLE bad (id nonsense)')]))
  assert.deepEqual(await findTables(db), [])
  assert.deepEqual(await migrate(db, [good]), [good.name])
  assert.deepEqual(await findTables(db), ['good', 'schema_migrations'])
})

test('migrating again changes nothing', async () => {
  const db = connect()
  assert.deepEqual(await migrate(db), names)
  assert.deepEqual(await migrate(db), [])
  const command = await runCommand(['migrate', '--json'], settings())
  assert.deepEqual(command.json(), { schema: 'up to date' })
})
