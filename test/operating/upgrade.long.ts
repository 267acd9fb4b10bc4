/** What an upgrade check says is what PostgreSQL does; the database that is asked about is left alone. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { checkUpgrade, splitStatements } from '../../src/database/upgrade.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { runCommand } from '../support/process.ts'

const database = await keepOpen(openTestDatabase({ empty: true }))
const db = await keepOpen(
  Promise.resolve(openLenientDatabase({ connectionString: database.url, connections: 1 })),
)

function written(version: number, text: string) {
  const checksum = createHash('sha256').update(text).digest('hex')
  return { version, name: `${String(version).padStart(4, '0')}-test.sql`, text, checksum }
}

const present = written(
  1,
  `CREATE TABLE partners (id integer PRIMARY KEY, name varchar(40));
   CREATE TABLE visits (id integer, partner integer, at integer, note text) PARTITION BY RANGE (at);
   CREATE TABLE untouched (id integer)`,
)
await migrate(db, [present])
await db.script(
  `CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM (0) TO (1000);
   CREATE TABLE visits_2 PARTITION OF visits FOR VALUES FROM (1000) TO (2000);
   INSERT INTO partners SELECT n, 'Partner ' || n FROM generate_series(1, 300) n;
   INSERT INTO visits SELECT n, n, n FROM generate_series(0, 1999) n;
   ANALYZE partners, visits`,
)

async function effectsOf(text: string) {
  const check = await checkUpgrade(database.url, [present, written(2, text)])
  assert.deepEqual(check!.pending, ['0002-test.sql'])
  return check!.effects.map(({ table, rows, lock, stops, contents }) => ({
    table,
    rows,
    lock,
    stops,
    contents,
  }))
}

const partners = { table: 'partners', rows: 300 }
const visits = { table: 'visits', rows: 2000 }
const [accessExclusive, share, shareRowExclusive] = [
  { lock: 'ACCESS EXCLUSIVE', stops: 'reads and writes' },
  { lock: 'SHARE', stops: 'writes' },
  { lock: 'SHARE ROW EXCLUSIVE', stops: 'writes' },
]

const cases: readonly (readonly [string, string, readonly object[]])[] = [
  [
    'a column with a constant default is added without a look at the rows',
    'ALTER TABLE partners ADD COLUMN tier integer NOT NULL DEFAULT 3',
    [{ ...partners, ...accessExclusive, contents: 'kept' }],
  ],
  [
    'one whose default differs from row to row rewrites the table',
    'ALTER TABLE partners ADD COLUMN dice float DEFAULT random()',
    [{ ...partners, ...accessExclusive, contents: 'rewritten' }],
  ],
  [
    'an index reads the table, and writes wait',
    'CREATE INDEX ON partners (name)',
    [{ ...partners, ...share, contents: 'read' }],
  ],
  [
    'another type rewrites it, and one that only allows more does not',
    'ALTER TABLE partners ALTER COLUMN name TYPE varchar(80); ALTER TABLE partners ALTER COLUMN id TYPE bigint',
    [
      { ...partners, ...accessExclusive, contents: 'kept' },
      { ...partners, ...accessExclusive, contents: 'rewritten' },
    ],
  ],
  [
    'what is set NOT NULL is read',
    'ALTER TABLE partners ALTER COLUMN name SET NOT NULL',
    [{ ...partners, ...accessExclusive, contents: 'read' }],
  ],
  [
    'partitions count with their table',
    'CREATE INDEX ON visits (partner); ALTER TABLE visits ADD COLUMN kind text',
    [
      { ...visits, ...share, contents: 'read' },
      { ...visits, ...accessExclusive, contents: 'kept' },
    ],
  ],
  [
    'a foreign key stops writes to the table it names too, and reads nothing while it is not valid',
    `CREATE TABLE tags (partner integer);
     ALTER TABLE tags ADD FOREIGN KEY (partner) REFERENCES partners NOT VALID`,
    [{ ...partners, ...shareRowExclusive, contents: 'kept' }],
  ],
  [
    'what changes rows is told',
    'UPDATE partners SET name = upper(name)',
    [{ ...partners, lock: 'ROW EXCLUSIVE', stops: 'nothing', contents: 'read' }],
  ],
  [
    'a table is dropped',
    'DROP TABLE untouched',
    [{ table: 'untouched', rows: 0, ...accessExclusive, contents: 'dropped' }],
  ],
  [
    'a new table, and a function with semicolons in its body, touch nothing',
    `CREATE TABLE fresh (id integer DEFAULT 1); -- not a statement; not this either
     CREATE FUNCTION two() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN PERFORM ';'; RETURN 2; END $$;
     INSERT INTO fresh VALUES (two())`,
    [],
  ],
]

for (const [title, text, expected] of cases)
  test(title, async () => assert.deepEqual(await effectsOf(text), expected))

const added = written(2, "ALTER TABLE partners ADD CONSTRAINT named CHECK (name <> '') NOT VALID")
const checkThird = (text: string) => checkUpgrade(database.url, [present, added, written(3, text)])

test('a constraint that is validated later reads the table while others write', async () => {
  await migrate(db, [present, added])
  const check = await checkThird('ALTER TABLE partners VALIDATE CONSTRAINT named')
  const { bytes, ...rest } = check!.effects[0]!
  assert.equal(check!.effects.length, 1)
  assert.ok(bytes >= 16_384)
  assert.deepEqual(rest, {
    ...{ migration: '0003-test.sql', ...partners },
    ...{ lock: 'SHARE UPDATE EXCLUSIVE', stops: 'vacuum', contents: 'read' },
    statement: 'ALTER TABLE partners VALIDATE CONSTRAINT named',
  })
})

test('a migration that fails is told, and leaves no database behind', async () => {
  await assert.rejects(checkThird('ALTER TABLE partners ADD COLUMN id integer'), /already exists/)
  const left = await ask(db, "SELECT FROM pg_database WHERE datname = 'countersign_upgrade_check'")
  assert.equal(left.length, 0)
})

test('a role that may not create a database is told what to do', async () => {
  const role = `visitor_${randomBytes(4).toString('hex')}`
  await ask(db, `CREATE ROLE ${role} LOGIN`)
  await ask(db, `GRANT SELECT ON schema_migrations TO ${role}`)
  const url = database.url.replace('//countersign@', `//${role}@`)
  await assert.rejects(
    checkUpgrade(url, [present, added, written(3, 'SELECT')]),
    /may not create one\. Let it \(ALTER ROLE … CREATEDB\)/,
  )
  await ask(db, `DROP OWNED BY ${role}`)
  await ask(db, `DROP ROLE ${role}`)
})

test('every migration of this release is split where PostgreSQL would', async () => {
  const whole = await keepOpen(openTestDatabase({ empty: true }))
  const there = openLenientDatabase({ connectionString: whole.url, connections: 1 })
  await migrate(there, readMigrations(), undefined, async (sql, { text }) => {
    for (const statement of splitStatements(text)) await sql.script(statement)
  })
  await there.close()
})

test('the command says it of a database of the release before, and changes nothing there', async () => {
  const before = await keepOpen(openTestDatabase())
  const there = openLenientDatabase({ connectionString: before.url, connections: 1 })
  const newest = readMigrations().at(-1)!
  await ask(there, `DELETE FROM schema_migrations WHERE version = ${newest.version}`)
  const settings = { DATABASE_URL: before.url, SECRET_KEY: randomBytes(32).toString('hex') }
  const checked = await runCommand(['upgrade', 'check'], settings)
  assert.deepEqual([checked.code, checked.stderr], [0, ''])
  assert.match(
    checked.stdout,
    /^(migration +table +rows +bytes +lock +stops +contents +statement|The migrations touch no table that is there\.)$/m,
  )
  assert.match(checked.stdout, new RegExp(`^${newest.name}: one transaction`, 'm'))
  assert.equal((await ask(there, 'SELECT FROM schema_migrations')).length, newest.version - 1)
  await there.close()
})
