/** The schema: several nodes may start at once, and nothing starts on a schema that it does not understand. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, beforeEach, test } from 'node:test'
import { day, after as later } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase, statement } from '../../src/database/database.ts'
import { migrate, readMigrations } from '../../src/database/migrations.ts'
import { openGateway } from '../../src/gateway.ts'
import { listAttempts } from '../../src/webhooks/delivery.ts'
import { retireOnce } from '../../src/webhooks/retention.ts'
import { getWebhook, rotateWebhookSecret } from '../../src/webhooks/webhook.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { operator } from '../support/gateway.ts'
import { endGateway, makeFolder, runCommand, startGateway } from '../support/process.ts'
import { openReceiver } from '../support/receiver.ts'

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
  const db = openDatabase({ connectionString: url, connections: 2 })
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

/** The first that nodes of a release before may have to live with. */
const firstUnderOldNodes = 8
/** Before these all nodes are stopped: docs/operating.md names them. */
const standstills = ['0023-delivery-engine.sql', '0024-keys-of-the-queue.sql']

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
    const statements = text.replace(/--.*$/gm, '')
    const isAlone = version < firstUnderOldNodes || standstills.includes(name)
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

test('an authorization that was the sum of several approvals becomes the last of them, and clients keep what they had as their most', async () => {
  const db = connect()
  const all = readMigrations()
  await migrate(
    db,
    all.filter(({ name }) => name < '0020'),
  )
  await db.script(`
    INSERT INTO users (id, username, name, password_hash, created_at, updated_at) VALUES ('id-aaaaaaaaaaaa', 'ada', 'Ada', 'x', now(), now());
    INSERT INTO partners (name, status, created_at, updated_at) VALUES ('Quant', 'approved', now(), now());
    INSERT INTO clients (id, branch_id, environment, name, callback_url, scopes, created_at, updated_at)
    VALUES (repeat('c', 24), 1, 'live', 'Pal', 'https://pal.example/cb', '{read,trade}', now(), now());
    INSERT INTO authorizations (user_id, client_id, scopes, account_numbers, approved_at, updated_at)
    VALUES ('id-aaaaaaaaaaaa', repeat('c', 24), '{read,trade}', '{}', now(), now());
    INSERT INTO grants (authorization_id, client_id, user_id, scopes, account_numbers, callback_url, code_hash, code_expires_at, approved_at)
    SELECT 1, repeat('c', 24), 'id-aaaaaaaaaaaa', scopes, '{}', '', sha256(scopes::text::bytea), now(), now()
    FROM (VALUES (ARRAY['read', 'trade']), (ARRAY['read'])) AS approved (scopes);`)
  await migrate(db, all)
  const read = statement(
    '',
    'SELECT a.scopes, c.scopes_at_most FROM authorizations a JOIN clients c ON c.id = a.client_id',
  )
  assert.deepEqual(await db.query(read), [{ scopes: ['read'], scopes_at_most: ['read', 'trade'] }])
})

/**
 * A house as the engine before left it. Deliveries 1 to 8 are of the events of the same numbers; events 9 and 10 are in the inbox. Of
 * transaction 3 one waits after two failures, two are blocked behind it, and one is not dispatched yet. 6 is blocked behind 1, which has
 * settled: what a replay beside publishing could leave behind. 8 waits for a webhook that is deleted.
 */
const oldHouse = (url: string) => `
  INSERT INTO partners (name, status, created_at, updated_at) VALUES ('Quant', 'approved', now(), now());
  INSERT INTO webhooks (branch_id, environment, url, kinds, state, created_at, updated_at)
  VALUES (1, 'live', '${url}', '{TRANSACTION}', 'active', now(), now()), (1, 'live', '${url}/gone', '{TRANSACTION}', 'deleted', now(), now());
  INSERT INTO lanes (webhook_id, attention_at, failures, failing_since) VALUES (1, now() - interval '1 s', 2, now()), (2, NULL, 0, NULL);
  INSERT INTO events (environment, branch_id, kind, action, entity, body, created_at)
  SELECT 'live', 1, 'TRANSACTION', 'SUBMITTED', 'transaction:' || entity, format('{"event":%s}', place), now() - interval '1 day'
  FROM unnest(ARRAY[1, 2, 3, 3, 3, 4, 5, 6, 3, 7]) WITH ORDINALITY AS told (entity, place) ORDER BY place;
  DELETE FROM event_inbox WHERE event_id < 9;
  INSERT INTO branch_log SELECT 1, 'live', id, id FROM events WHERE id < 9;
  INSERT INTO branch_sequences VALUES (1, 'live', 8);
  INSERT INTO deliveries (webhook_id, event_id, entity, state, after_id, due_at, attempts, tries, created_at, settled_at)
  SELECT CASE WHEN e.id = 8 THEN 2 ELSE 1 END, e.id, e.entity, told.state, told.after_id, now() - interval '1 minute', told.attempts, told.attempts,
    e.created_at, CASE WHEN told.state IN ('delivered', 'exhausted', 'canceled') THEN now() END
  FROM events e JOIN (VALUES (1, 'delivered', NULL, 1), (2, 'exhausted', NULL, 11), (3, 'waiting', NULL, 2), (4, 'blocked', 3, 0),
    (5, 'blocked', 4, 0), (6, 'blocked', 1, 0), (7, 'canceled', NULL, 0), (8, 'waiting', NULL, 0)) AS told (id, state, after_id, attempts)
    ON told.id = e.id ORDER BY e.id;
  INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome, status)
  SELECT d.id, n, now(), 5, CASE WHEN state = 'delivered' THEN 'accepted' ELSE 'refused' END, CASE WHEN state = 'delivered' THEN 200 ELSE 500 END
  FROM deliveries d CROSS JOIN LATERAL generate_series(1, d.attempts) AS n;
  INSERT INTO replays (webhook_id, selection, total, until_id, created_at) VALUES (1, '{"failed":true}', 1, 8, now());`

const stateOfEach = statement('', 'SELECT id, state, after_id, attempts FROM deliveries ORDER BY id')

test('what the engine before left behind is delivered by the one that came: nothing is lost, nothing twice, each entity in its order', async (t) => {
  const db = connect()
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const all = readMigrations()
  await migrate(
    db,
    all.filter(({ name }) => name < '0023'),
  )
  await db.script(oldHouse(receiver.url('/hook')))
  await migrate(db, all)
  assert.deepEqual(await db.query(stateOfEach), [
    { id: 1, state: 'delivered', after_id: null, attempts: 1 },
    { id: 2, state: 'exhausted', after_id: null, attempts: 11 },
    { id: 3, state: 'waiting', after_id: null, attempts: 2 },
    { id: 4, state: 'blocked', after_id: 3, attempts: 0 },
    { id: 5, state: 'blocked', after_id: 4, attempts: 0 },
    { id: 6, state: 'waiting', after_id: null, attempts: 0 },
    { id: 7, state: 'canceled', after_id: null, attempts: 0 },
    { id: 8, state: 'waiting', after_id: null, attempts: 0 },
  ])
  const started = {
    ...settings(),
    DATA_DIR: makeFolder(),
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'silent',
    WEBHOOK_ALLOW_LOOPBACK: 'true',
  }
  const api = await openGateway(readConfig({ ...started, ROLES: 'api' }))
  t.after(() => api.close())
  const { vault, guard } = api.context
  const branch = { branchId: 1, environment: 'live' } as const
  const now = new Date()
  // Before any day is opened, and on the first, nothing is old.
  const policy = { attemptDays: 30, eventDays: 90 }
  assert.deepEqual(await retireOnce(db, policy, now), { days: 0, expired: 0, keys: 0 })
  const webhook = await getWebhook(db, branch, 1)
  await rotateWebhookSecret({ db, vault, policy: guard }, webhook, 'a secret of its own', now, operator, now)
  const worker = await openGateway(readConfig({ ...started, ROLES: 'worker' }))
  t.after(() => worker.close())
  await receiver.count('/hook', 7)
  await eventually('the end of all of them', async () => {
    const rows = await db.query<{ state: string }>(stateOfEach)
    return rows.length === 11 && rows.every(({ state }) => state !== 'waiting' && state !== 'blocked')
  })

  const sent = receiver.at('/hook').map(({ body }) => JSON.parse(body).event as number)
  assert.deepEqual([...sent].sort(), [10, 2, 3, 4, 5, 6, 9])
  assert.deepEqual(
    sent.filter((event) => [3, 4, 5, 9].includes(event)),
    [3, 4, 5, 9],
  )
  const log = statement('', 'SELECT sequence, event_id FROM branch_log ORDER BY sequence')
  assert.deepEqual(
    await db.query(log),
    Array.from({ length: 10 }, (_, index) => ({ sequence: index + 1, event_id: index + 1 })),
  )
  const states = (await db.query<{ id: number; state: string }>(stateOfEach)).map(({ state }) => state)
  assert.deepEqual(
    states,
    'delivered exhausted delivered delivered delivered delivered canceled canceled delivered delivered delivered'.split(
      ' ',
    ),
  )
  assert.deepEqual(
    (await listAttempts(db, 3)).map(({ number, status }) => [number, status]),
    [
      [1, 500],
      [2, 500],
      [3, 200],
    ],
  )
  assert.equal((await listAttempts(db, 2)).length, 11)
})

test('what was there before days were counted leaves as if it were of the first day', async () => {
  const db = connect()
  const all = readMigrations()
  await migrate(
    db,
    all.filter(({ name }) => name < '0023'),
  )
  await db.script(oldHouse('https://partner.example/hook'))
  await migrate(db, all)
  const now = new Date()
  await db.query(statement('', 'SELECT open_day(day_of($1))'), [now])
  const policy = { attemptDays: 30, eventDays: 90 }
  assert.deepEqual(await retireOnce(db, policy, later(now, 90 * day)), { days: 2, expired: 0, keys: 0 })
  assert.equal((await retireOnce(db, policy, later(now, 93 * day))).expired, 5)
  assert.deepEqual(await db.query(stateOfEach), [])
})
