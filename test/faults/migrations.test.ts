/** The schema: several nodes may start at once, and nothing starts on a schema that it does not understand. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, beforeEach, test } from 'node:test'
import { type Database, statement } from '../../src/database/database.ts'
import { inspectSchema, migrate, readMigrations } from '../../src/database/migrations.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { openPatiently } from '../support/patiently.ts'
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
  const db = openPatiently({ connectionString: url, connections: 2 })
  pools.push(db)
  return db
}

const settings = () => ({ DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') })

function written(version: number, text: string) {
  const name = `${String(version).padStart(4, '0')}-test.sql`
  return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') }
}

async function findTables(db: Database): Promise<string[]> {
  const rows = await db.query<{ tablename: string }>(
    statement('', "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"),
  )
  return rows.map((row) => row.tablename)
}

test('migrations are numbered without gaps or doubles', () => {
  assert.deepEqual(
    readMigrations().map((migration) => migration.version),
    names.map((_, index) => index + 1),
  )
})

/** Up to here a database is made; what follows is applied under nodes of the release before. */
const lastOfFirstRelease = 16
/** Before these all nodes are stopped: docs/operating.md names them. */
const standstills: readonly string[] = []

test('a migration adds: nothing that nodes of the release before use is taken away, renamed or made stricter', () => {
  const harmful = [
    /\bDROP\s+(TABLE|COLUMN|FUNCTION|VIEW|TYPE|INDEX)\b/i,
    /\bRENAME\b/i,
    /\bALTER\s+COLUMN\s+\w+\s+(TYPE|SET\s+NOT\s+NULL|DROP\s+DEFAULT)\b/i,
    /\bADD\s+COLUMN\s+(?![^,;]*\bDEFAULT\b)[^,;]*\bNOT\s+NULL\b/i,
    /\bADD\s+(CONSTRAINT|CHECK|UNIQUE|FOREIGN)\b(?![^;]*\bNOT\s+VALID\b)/i,
    /\b(TRUNCATE|DELETE\s+FROM)\b/i,
  ]
  for (const { version, name, text } of readMigrations()) {
    // What a function does, it does when it is called.
    const statements = text.replace(/--.*$/gm, '').replace(/\bAS \$\$.*?\$\$/gs, '')
    const isAlone = version <= lastOfFirstRelease || standstills.includes(name)
    for (const pattern of isAlone ? [] : harmful) assert.doesNotMatch(statements, pattern, name)
  }
  const upgrading = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  for (const name of standstills) assert.ok(upgrading.includes(`\`${name}\``), name)
  const caught = ['DROP TABLE x', 'ALTER TABLE x ADD COLUMN y int NOT NULL', 'ALTER TABLE x RENAME TO y']
  for (const text of caught)
    assert.ok(
      harmful.some((pattern) => pattern.test(text)),
      text,
    )
})

test('of ten starters at once one migrates, and all of them find the finished schema', async () => {
  const starters = Array.from({ length: 10 }, connect)
  const applied = await Promise.all(starters.map((db) => migrate(db)))
  assert.deepEqual(
    applied.filter((each) => each.length > 0),
    [names],
  )
  for (const db of starters) assert.equal((await db.query(statement('', 'SELECT FROM audit_blocks'))).length, 0)
})

test('two gateways and a command that start at once on an empty database all work', async () => {
  const shared = settings()
  const [left, right, listed] = await Promise.all([
    startGateway(shared),
    startGateway(shared),
    runCommand(['partner', 'list', '--json'], shared),
  ])
  await Promise.all([endGateway(left), endGateway(right)])
  assert.deepEqual(listed.json(), [])
})

test('a schema newer than the release is refused, by a gateway and by a command, in a sentence', async () => {
  const db = connect()
  await migrate(db)
  const newest = readMigrations().at(-1)!.version
  await db.query(
    statement('', `INSERT INTO schema_migrations VALUES (${newest + 1}, 'of-tomorrow.sql', 'checksum', now())`),
  )
  const sentence = `The database has schema version ${newest + 1}, which this release does not know (it knows up to ${newest}). Start the newer release that made it.\n`
  for (const words of [['serve'], ['partner', 'list']]) {
    const refused = await runCommand(words, settings())
    assert.deepEqual({ code: refused.code, stderr: refused.stderr }, { code: 1, stderr: sentence })
  }
})

/** Of 0019, before a comment of it was mended. */
const firstText = 'e9b982c148e33117105c47729e191f9d9636b72d1721be8544aae14fb392d0f6'

test('a database that has a migration with the comment that was mended since is current', async () => {
  const db = connect()
  await migrate(db)
  const rewrite = statement('', 'UPDATE schema_migrations SET checksum = $1 WHERE version = 19')
  await db.query(rewrite, [firstText])
  assert.deepEqual(await migrate(db), [])
  assert.equal((await inspectSchema(db)).kind, 'current')
})

test('a migration whose text changed after it was applied is refused by name', async () => {
  const db = connect()
  await migrate(db)
  const changed = readMigrations().map((migration) =>
    migration.version === 2 ? { ...written(2, `${migration.text}\n-- later`), name: migration.name } : migration,
  )
  await assert.rejects(
    migrate(db, changed),
    new Error(`Migration ${names[1]} was changed after it had been applied. Restore its text.`),
  )
  await db.query(statement('', "UPDATE schema_migrations SET checksum = 'other' WHERE version = 1"))
  const refused = await runCommand(['migrate'], settings())
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, new RegExp(`^Migration ${names[0]} was changed`))
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

/** As the release before holdings made them. */
const houseOfBefore = `
  INSERT INTO users (id, username, name, password_hash, role, created_at, updated_at, email) VALUES
    ('id-000000000001', 'ada', 'Ada', 'hash of ada', 'holder', now(), now(), 'ada@example.com'),
    ('id-000000000002', 'olga', 'Olga', 'hash of olga', 'operator', now(), now(), NULL);
  INSERT INTO accounts (account_number, user_id, environment, classification, date_created, type, last_update_date) VALUES
    ('6YA1', 'id-000000000001', 'live', 'individual', now(), 'cash', now()),
    ('VA61', 'id-000000000001', 'sandbox', 'individual', now(), 'margin', now())`

test('users, passwords and accounts of before stay as they were, and each owner holds what they owned', async () => {
  const db = connect()
  await migrate(
    db,
    readMigrations().filter(({ version }) => version <= 18),
  )
  await db.script(houseOfBefore)
  const people = statement(
    '',
    'SELECT id, username, name, password_hash, role, status, email, created_at FROM users ORDER BY id',
  )
  const accounts = statement('', 'SELECT account_number, user_id, environment, status, type FROM accounts ORDER BY 1')
  const before = [await db.query(people), await db.query(accounts)]
  await migrate(db)
  assert.deepEqual([await db.query(people), await db.query(accounts)], before)
  assert.deepEqual(
    await db.query(
      statement(
        '',
        'SELECT user_id, account_number, role, cardinality(scopes) AS scopes, status FROM holdings ORDER BY 2',
      ),
    ),
    ['6YA1', 'VA61'].map((account_number) => ({
      user_id: 'id-000000000001',
      account_number,
      role: 'owner',
      scopes: 5,
      status: 'active',
    })),
  )
})

test('whoever ran the gateway before there were roles is an administrator after', async () => {
  const db = connect()
  const before = readMigrations().filter(({ version }) => version < 21)
  await migrate(db, before)
  const people = [
    ['id-aaaaaaaaaaaa', 'olga', 'operator', 'active'],
    ['id-bbbbbbbbbbbb', 'left', 'operator', 'disabled'],
    ['id-cccccccccccc', 'alice', 'holder', 'active'],
  ]
  for (const values of people) {
    const insert = `INSERT INTO users (id, username, name, password_hash, role, status, created_at, updated_at) VALUES ($1, $2, $2, '-', $3, $4, now(), now())`
    await db.query(statement('', insert), values)
  }
  await migrate(db)
  const roles = await db.query(statement('', 'SELECT user_id AS "userId", role, source FROM staff_roles ORDER BY 1'))
  assert.deepEqual(roles, [
    { userId: 'id-aaaaaaaaaaaa', role: 'administrator', source: 'hand' },
    { userId: 'id-bbbbbbbbbbbb', role: 'administrator', source: 'hand' },
  ])
})
