/** Databases of before the first release: whoever has all of that list is taken over as it is, everybody else is told what to do. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import { day, after as later } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, statement } from '../../src/database/database.ts'
import { inspectSchema, migrate, readMigrations } from '../../src/database/migrations.ts'
import { checkSchema } from '../../src/doctor/server.ts'
import { openGateway } from '../../src/gateway.ts'
import { listAttempts } from '../../src/webhooks/delivery.ts'
import { retireOnce } from '../../src/webhooks/retention.ts'
import { getWebhook, rotateWebhookSecret } from '../../src/webhooks/webhook.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { applyEarlier } from '../support/earlier-database.ts'
import { eventually } from '../support/eventually.ts'
import { operatorAct } from '../support/gateway.ts'
import { openPatiently } from '../support/patiently.ts'
import { endGateway, makeFolder, runCommand, startGateway } from '../support/process.ts'
import { openReceiver } from '../support/receiver.ts'
import { describeSchema, readRows } from '../support/schema.ts'

const names = readMigrations().map((migration) => migration.name)
const databases: TestDatabase[] = []
const pools: Database[] = []
let url: string
let db: Database

beforeEach(async () => {
  url = await makeEmpty()
  db = connect()
})
after(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
  for (const database of databases) await database.close()
})

async function makeEmpty(): Promise<string> {
  const database = await openTestDatabase({ empty: true })
  databases.push(database)
  return database.url
}

function connect(to = url): Database {
  const pool = openPatiently({ connectionString: to, connections: 2 })
  pools.push(pool)
  return pool
}

const settings = () => ({ DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') })
const selectList = statement('', 'SELECT version, name, checksum FROM schema_migrations ORDER BY version')
const listOfToday = () => readMigrations().map(({ version, name, checksum }) => ({ version, name, checksum }))

/** What holds what was there before days were counted; it leaves with the first day, and a database that is made today has none. */
const dropDayZero = ['events', 'settled_deliveries', 'branch_log', 'attempts']
  .map((table) => `SELECT drop_day('${table}', 0)`)
  .join(';')

/** Where the reading of the inbox begins depends on how many transactions there have been. */
const withoutReads = (rows: Record<string, object[]>) => ({
  ...rows,
  inbox_reads: rows.inbox_reads!.map((row) => ({ ...row, read: undefined })),
})

test('a database that is taken over is equal to one that is made today, in every object and every row', async () => {
  await applyEarlier(db)
  await migrate(db)
  await db.script(dropDayZero)
  const today = connect(await makeEmpty())
  await migrate(today)
  for (const each of [db, today]) await each.script('SELECT open_day(261116)')
  assert.deepEqual(await describeSchema(db), await describeSchema(today))
  assert.deepEqual(withoutReads(await readRows(db)), withoutReads(await readRows(today)))
  assert.deepEqual(await db.query(selectList), await today.query(selectList))
  const reads = statement('', "SELECT count(*) AS n FROM inbox_reads WHERE read::text ~ '^(\\d+):\\1:$'")
  for (const each of [db, today]) assert.deepEqual(await each.query(reads), [{ n: 16 }])
})

type Rows = Awaited<ReturnType<typeof readRows>>

/** Of the tables and the columns that there were. */
function asKnownTo(before: Rows, rows: Rows): Rows {
  const known = (table: string, row: object) => {
    const columns = Object.keys(before[table]![0] ?? {})
    return Object.fromEntries(Object.entries(row).filter(([column]) => columns.includes(column)))
  }
  return Object.fromEntries(Object.keys(before).map((table) => [table, rows[table]!.map((row) => known(table, row))]))
}

test('of ten starters at once one takes the database over, and every row stays as it was', async () => {
  await applyEarlier(db, { to: 22 })
  await db.script(oldHouse('https://partner.example/hook'))
  await applyEarlier(db, { from: 23 })
  const before = await readRows(db)
  const starters = Array.from({ length: 10 }, () => connect())
  const applied = await Promise.all(starters.map((starter) => migrate(starter)))
  assert.deepEqual(
    applied.filter((each) => each.length > 0),
    [names],
  )
  assert.deepEqual(await db.query(selectList), listOfToday())
  assert.deepEqual(asKnownTo(before, await readRows(db)), before)
  assert.equal((await inspectSchema(db)).kind, 'current')
})

test('two gateways and a command that start at once on such a database all work', async () => {
  await applyEarlier(db)
  const finding = (await checkSchema({ db })).finding
  assert.deepEqual([finding.state, finding.found], ['warn', 'The schema was made before the first release.'])
  const shared = settings()
  const [left, right, command] = await Promise.all([
    startGateway(shared),
    startGateway(shared),
    runCommand(['migrate', '--json'], shared),
  ])
  await Promise.all([endGateway(left), endGateway(right)])
  assert.deepEqual(command.json(), { schema: 'up to date' })
  assert.deepEqual(await db.query(selectList), listOfToday())
})

test('a migration of a later release is applied to it in the same step', async () => {
  await applyEarlier(db)
  const text = 'CREATE TABLE next_things (id bigint PRIMARY KEY)'
  const next = {
    version: names.length + 1,
    name: 'next.sql',
    text,
    checksum: createHash('sha256').update(text).digest('hex'),
  }
  assert.deepEqual(await migrate(db, [...readMigrations(), next]), [...names, 'next.sql'])
  assert.deepEqual(await db.query(statement('', 'SELECT FROM next_things')), [])
  assert.deepEqual(await migrate(db, [...readMigrations(), next]), [])
})

const refusal = (last: number) =>
  `The database does not have all 27 migrations of before the first release as they were (its last is number ${last}): ` +
  'run "countersign migrate" of the version that has them, then start this one.'

test('a database that stopped on the way is refused in a sentence, by a gateway, a command and the doctor, and stays as it is', async () => {
  await applyEarlier(db, { to: 20 })
  const before = [await describeSchema(db), await readRows(db), await db.query(selectList)]
  for (const words of [['serve'], ['migrate']]) {
    const refused = await runCommand(words, settings())
    assert.deepEqual({ code: refused.code, stderr: refused.stderr }, { code: 1, stderr: `${refusal(20)}\n` })
  }
  const { finding } = await checkSchema({ db })
  assert.deepEqual([finding.state, finding.state === 'fail' && finding.advice], ['fail', refusal(20)])
  assert.deepEqual([await describeSchema(db), await readRows(db), await db.query(selectList)], before)
})

test('a database whose list is not the one that was, at any place of it, is refused', async () => {
  await applyEarlier(db)
  await db.script("UPDATE schema_migrations SET checksum = 'other' WHERE version = 13")
  await assert.rejects(migrate(db), new Error(refusal(27)))
  await db.script('DELETE FROM schema_migrations WHERE version = 13')
  await assert.rejects(migrate(db), new Error(refusal(27)))
})

test('a role that does not own the tables is told that their owner takes it over', async (t) => {
  await applyEarlier(db)
  const role = 'earlier_gateway'
  await db.script(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
  t.after(() => db.script(`DROP OWNED BY ${role}; DROP ROLE ${role}`))
  const gateway = connect(url.replace('//countersign@', `//${role}@`))
  await assert.rejects(migrate(gateway), /Run "countersign migrate" as the role that owns the tables\.$/)
})

/**
 * A house as the migrations up to 22 had it. Deliveries 1 to 8 are of the events of the same numbers; events 9 and 10 are in the inbox. Of
 * transaction 3 one waits after two failures, two are blocked behind it, and one is not dispatched yet. 6 is blocked behind 1, which has
 * settled: what a replay beside publishing could leave behind. The rest of the list moves it all to day 0. 8 waits for a webhook that is deleted.
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

test('what waits in a database that is taken over is delivered: nothing is lost, nothing twice, each entity in its order', async (t) => {
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  await applyEarlier(db, { to: 22 })
  await db.script(oldHouse(receiver.url('/hook')))
  await applyEarlier(db, { from: 23 })
  await migrate(db)
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
  const act = operatorAct(new Date())
  // Before any day is opened, and on the first, nothing is old.
  const policy = { attemptDays: 30, eventDays: 90 }
  assert.deepEqual(await retireOnce(db, policy, act.at), { days: 0, expired: 0, keys: 0 })
  const webhook = await getWebhook(db, branch, 1)
  await rotateWebhookSecret({ db, vault, policy: guard }, webhook, 'a secret of its own', act.at, act)
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

test('what a database that is taken over has of before days were counted leaves as if it were of the first day', async () => {
  await applyEarlier(db, { to: 22 })
  await db.script(oldHouse('https://partner.example/hook'))
  await applyEarlier(db, { from: 23 })
  await migrate(db)
  const now = new Date()
  await db.query(statement('', 'SELECT open_day(day_of($1))'), [now])
  const policy = { attemptDays: 30, eventDays: 90 }
  assert.deepEqual(await retireOnce(db, policy, later(now, 90 * day)), { days: 2, expired: 0, keys: 0 })
  assert.equal((await retireOnce(db, policy, later(now, 93 * day))).expired, 5)
  assert.deepEqual(await db.query(stateOfEach), [])
})
