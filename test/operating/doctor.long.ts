/**
 * `countersign doctor`: says what is wrong and what to do, beside a gateway and without one, and changes
 * nothing.
 */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, day, hour, minute, second, systemClock } from '../../src/clock.ts'
import { generateKey, parseKey, printKey } from '../../src/crypto/vault.ts'
import { readMigrations } from '../../src/database/migrations.ts'
import { openPrivateServer } from '../../src/database/private-server.ts'
import { judgeCertificate } from '../../src/doctor/certificate.ts'
import { judgeSpace } from '../../src/doctor/data-folder.ts'
import { splitHosts } from '../../src/doctor/database-hosts.ts'
import { examine } from '../../src/doctor/doctor.ts'
import type { Result } from '../../src/doctor/finding.ts'
import { checkMailServer } from '../../src/doctor/mail-server.ts'
import { checkOperators } from '../../src/doctor/operators.ts'
import { checkAdministrators, checkFourEyes } from '../../src/doctor/staff.ts'
import { readConfig } from '../../src/settings/config.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { failDeliveries, numberEvents } from '../support/by-hand.ts'
import { makeCertificate } from '../support/certificate.ts'
import { announceServer, openTestDatabase, openTestServer } from '../support/database.ts'
import { openDnsServer } from '../support/dns-server.ts'
import { openEngine } from '../support/engine.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { openMailServer } from '../support/mail-server.ts'
import { openPoolingProxy } from '../support/pooling-proxy.ts'
import { findFreePorts } from '../support/ports.ts'
import { makeFolder, runCommand } from '../support/process.ts'
import { setUpApp } from '../support/second-factor.ts'

/** One that the doctor finds nothing to complain of, for the tests of this file alone. */
const server = await keepOpen(openTestServer({ durable: true }))
announceServer(server)
const names = await keepOpen(openDnsServer())
const [livePort, sandboxPort] = await findFreePorts(2)
const house = await openHouse({
  PORT: String(livePort),
  SANDBOX_PORT: String(sandboxPort),
  WEBHOOK_DNS_SERVERS: names.address,
})
const { db } = house.gateway.context

type FindResult = (check: string) => Result

async function look(settings: NodeJS.ProcessEnv = {}, clock: Clock = systemClock): Promise<FindResult> {
  const results = await examine(() => readConfig({ ...house.settings, ...settings }), clock)
  return (check) => results.find((result) => result.check === check)!
}

function assertFound(result: Result, state: Result['state'], found: RegExp, advice?: RegExp): void {
  assert.equal(result.state, state, JSON.stringify(result))
  assert.match(result.found, found)
  if (advice) assert.match('advice' in result ? result.advice : '', advice)
  else assert.ok(!('advice' in result))
}

async function run(text: string, url = house.databaseUrl): Promise<Record<string, unknown>[]> {
  const opened = openLenientDatabase({ connectionString: url, connections: 1 })
  try {
    return await ask<Record<string, unknown>>(opened, text)
  } finally {
    await opened.close()
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((ready) =>
    server.listen(0, '127.0.0.1', () => ready((server.address() as AddressInfo).port)),
  )
}

test('beside a gateway that is well, every check is ok, on paper and as JSON', async () => {
  const settings = { ...house.settings, BASE_URL: house.baseUrl, SANDBOX_URL: house.sandboxUrl }
  const [json, text] = await Promise.all([
    runCommand(['doctor', '--json'], settings),
    runCommand(['doctor'], settings),
  ])
  const { healthy, checks } = json.json<{ healthy: boolean; checks: Result[] }>()
  assert.deepEqual(
    checks.filter(({ state }) => state !== 'ok' && state !== 'skipped'),
    [],
  )
  assert.deepEqual([json.code, text.code, healthy], [0, 0, true])
  assert.equal(text.stdout.trimEnd().split('\n').length, checks.length, 'a line a check')
  for (const { check, found } of checks.filter(
    ({ check }) => check !== 'connections' && check !== 'notifications',
  ))
    assert.ok(check === 'clock' || text.stdout.includes(found), check)
  assert.match(checks.find(({ check }) => check === 'live site')!.found, /up and ready/)
})

test('without a gateway the addresses are a warning, and the exit code is still 0', async () => {
  const [one, two] = await findFreePorts(2)
  const finished = await runCommand(['doctor'], {
    ...house.settings,
    PORT: String(one),
    SANDBOX_PORT: String(two),
  })
  assert.equal(finished.code, 0, finished.stdout)
  assert.match(finished.stdout, /^ok +live port +127\.0\.0\.1:\d+ is free: no gateway runs here\.$/m)
  assert.match(finished.stdout, /^warn +live site .*ECONNREFUSED.*\n +→ Start the gateway/m)
})

test('every mistake of the configuration is named, the rest is skipped, and the exit code is 1', async () => {
  const settings = { PORT: 'eighty', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://u:hunter2@h/d' }
  const finished = await runCommand(['doctor', '--json'], settings)
  assert.equal(finished.code, 1)
  const [configuration, ...others] = finished.json<{ checks: Result[] }>().checks
  assertFound(
    configuration!,
    'fail',
    /PORT must be.*LOG_LEVEL must be.*DATABASE_URL must begin/,
    /countersign settings/,
  )
  assert.deepEqual(new Set(others.map(({ state }) => state)), new Set(['skipped']))
  assert.ok(!finished.stdout.includes('hunter2'))
})

test('a password that is wrong is told from a host that is away, and neither shows the password', async (t) => {
  const dataDir = makeFolder()
  const server = await openPrivateServer({ dataDir, purpose: 'serve', searchPath: process.env.PATH ?? '' })
  t.after(() => server.close())
  await run("CREATE ROLE guest LOGIN PASSWORD 'right'", server.connectionString)
  const rules = join(dataDir, 'postgres', 'cluster', 'pg_hba.conf')
  writeFileSync(rules, `local all guest scram-sha-256\n${readFileSync(rules, 'utf8')}`)
  await run('SELECT pg_reload_conf()', server.connectionString)
  const as = (password: string) => server.connectionString.replace('countersign@', `guest:${password}@`)
  const wrong = await look({ DATABASE_URL: as('hunter2') })
  assertFound(wrong('database'), 'fail', /password authentication failed/, /user and password/)
  assert.ok(!JSON.stringify(wrong('database')).includes('hunter2'))
  assertFound((await look({ DATABASE_URL: as('right') }))('database'), 'ok', /is primary/)
  const away = await look({ DATABASE_URL: 'postgresql://u:hunter2@127.0.0.1:1/db' })
  assertFound(away('database'), 'fail', /^127\.0\.0\.1:1 is away \(.*ECONNREFUSED/, /Is PostgreSQL running/)
  assertFound(away('schema'), 'skipped', /"database"/)
  assertFound(away('live site'), 'ok', /is up/)
  const nobody = await look({ DATABASE_URL: 'postgresql://u:hunter2@no-such-host.invalid/db' })
  assertFound(nobody('database'), 'fail', /no-such-host\.invalid:5432 is away/, /host's name/)
  const missing = await look({ DATABASE_URL: house.databaseUrl.replace(/\/t_\w+/, '/absent') })
  assertFound(missing('database'), 'fail', /"absent" does not exist/, /Create the database/)
  await run('ALTER SYSTEM SET fsync = off', server.connectionString)
  await run('SELECT pg_reload_conf()', server.connectionString)
  assertFound(
    (await look({ DATABASE_URL: as('right') }))('durability'),
    'fail',
    /fsync is off/,
    /Switch both on/,
  )
})

test('a server that takes connections and says nothing costs a few seconds, not for ever', async (t) => {
  const silent = createServer(() => {})
  const port = await listen(silent)
  t.after(() => void silent.close())
  const found = await look({ DATABASE_URL: `postgresql://u@127.0.0.1:${port}/db` })
  assertFound(found('database'), 'fail', /timeout/i, /firewall/)
})

test('each host of DATABASE_URL is asked for itself, and one that is away is a warning while there is a primary', async (t) => {
  assert.deepEqual(splitHosts('postgresql://u:p%40w@h1:5433,h2/db?sslmode=require'), [
    { name: 'h1:5433', url: 'postgresql://u:p%40w@h1:5433/db?sslmode=require' },
    { name: 'h2:5432', url: 'postgresql://u:p%40w@h2/db?sslmode=require' },
  ])
  const socket = join(decodeURIComponent(/host=([^&]*)/.exec(house.databaseUrl)![1]!), '.s.PGSQL.5432')
  const relay = createServer((client) => client.pipe(connect(socket)).pipe(client))
  const port = await listen(relay)
  t.after(() => void relay.close())
  const name = /\/(t_\w+)/.exec(house.databaseUrl)![1]
  const found = await look({ DATABASE_URL: `postgresql://countersign@127.0.0.1:1,127.0.0.1:${port}/${name}` })
  const both = /^127\.0\.0\.1:1 is away \(.*\); 127\.0\.0\.1:\d+ is primary\.$/
  assertFound(found('database'), 'warn', both, /Is PostgreSQL running/)
  assertFound(found('durability'), 'warn', /No standby confirms a commit/, /failover/)
  assertFound(found('schema'), 'ok', /as this release wants it/)
})

test('a schema that is missing, behind, newer or changed is told apart, and stays as it is', async (t) => {
  const database = await openTestDatabase({ empty: true })
  t.after(() => database.close())
  const check = async () => (await look({ DATABASE_URL: database.url }))('schema')
  const tables = () => run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database.url)
  assertFound(await check(), 'warn', /empty/, /countersign migrate/)
  assert.deepEqual(await tables(), [])
  const [first, ...rest] = readMigrations()
  await run(
    'CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)',
    database.url,
  )
  const record = (version: number, checksum: string) =>
    run(`INSERT INTO schema_migrations VALUES (${version}, 'x', '${checksum}', now())`, database.url)
  await record(1, first!.checksum)
  assertFound(
    await check(),
    'warn',
    new RegExp(`at version 1; this release wants ${1 + rest.length}`),
    /migrate/,
  )
  assert.equal((await tables()).length, 1)
  for (const { version, checksum } of rest) await record(version, checksum)
  assertFound(await check(), 'ok', /as this release wants it/)
  await run("UPDATE schema_migrations SET checksum = 'other' WHERE version = 1", database.url)
  assertFound(
    await check(),
    'fail',
    /0001-.* is not the one that made this database/,
    /start with an empty one/,
  )
  await run(`UPDATE schema_migrations SET checksum = '${first!.checksum}' WHERE version = 1`, database.url)
  await record(1000, 'of tomorrow')
  assertFound(await check(), 'fail', /at version 1000; this release knows up to/, /newer release/)
})

test('keys: a missing file, a loose one, a broken one and one that opens nothing', async () => {
  await house.makeClient()
  const path = join(makeFolder(), 'secret.keys')
  const inFile = { SECRET_KEY: '', SECRET_KEY_FILE: path }
  const write = (text: string, mode = 0o600) => {
    writeFileSync(path, text)
    chmodSync(path, mode)
  }
  assertFound(
    (await look(inFile))('configuration'),
    'fail',
    /SECRET_KEY_FILE names a file that does not exist/,
    /./,
  )
  assert.ok(!existsSync(path), 'looking makes no key')

  write(`${house.settings.SECRET_KEY}\n`)
  const well = await look(inFile)
  assertFound(well('keys'), 'ok', /^One key \([0-9a-f]{8}\) in .* mode 0600\.$/)
  assertFound(well('sealed secrets'), 'ok', /^All [1-9]\d* stored secrets open with the first key\.$/)

  write(`${house.settings.SECRET_KEY}\n`, 0o644)
  assertFound((await look(inFile))('keys'), 'fail', /mode 0644/, /chmod 600/)
  write(`${house.settings.SECRET_KEY}\n`, 0o440)
  assertFound((await look(inFile))('keys'), 'ok', /mode 0440/)

  write('nonsense\n')
  const broken = await look(inFile)
  assertFound(broken('keys'), 'fail', /Line 1 of .* is not a key/, /Put back/)
  assertFound(broken('sealed secrets'), 'skipped', /"keys"/)

  const stranger = printKey(generateKey())
  const wrong = await look({ SECRET_KEY: stranger })
  const { id } = parseKey(house.settings.SECRET_KEY!)!
  assertFound(wrong('sealed secrets'), 'fail', new RegExp(`\\d+ under key ${id}`), /Add that key/)
  assert.ok(!JSON.stringify(wrong('keys')).includes(stranger))

  const older = await look({ SECRET_KEY: `${stranger},${house.settings.SECRET_KEY}` })
  assertFound(older('sealed secrets'), 'warn', /with an older key only/, /keys prune/)
  const spare = await look({ SECRET_KEY: `${house.settings.SECRET_KEY},${stranger}` })
  assertFound(spare('sealed secrets'), 'ok', /Older keys are no longer needed/)
})

test('a clock that differs from the database by a second is a warning, by five a failure', async () => {
  const shifted = (ms: number): Clock => ({ now: () => new Date(Date.now() + ms) })
  assertFound((await look())('clock'), 'ok', /the database/)
  assertFound((await look({}, shifted(-2 * second)))('clock'), 'warn', /behind the database/, /chrony/)
  assertFound((await look({}, shifted(hour)))('clock'), 'fail', /60 min ahead of the database/, /chrony/)
})

test('commits that do not wait for the disk fail, and a node that would not get its connections is warned of', async (t) => {
  const database = await openTestDatabase()
  t.after(() => database.close())
  const name = /\/(t_\w+)/.exec(database.url)![1]
  await run(`ALTER DATABASE ${name} SET synchronous_commit = off`, database.url)
  const found = await look({ DATABASE_URL: database.url, DATABASE_CONNECTIONS: '150' })
  assertFound(found('durability'), 'fail', /synchronous_commit is off/, /lost with the power/)
  assertFound(found('connections'), 'warn', /a node takes up to 155/, /max_connections/)
})

test('a proxy that pools transactions is found by what it breaks', async (t) => {
  const proxy = await openPoolingProxy(house.databaseUrl)
  t.after(() => proxy.close())
  const found = await look({ DATABASE_URL: proxy.url })
  assertFound(found('database'), 'ok', /is primary/)
  assertFound(found('sessions'), 'fail', /a proxy pools them/, /PgBouncer/)
  assertFound(found('notifications'), 'fail', /not heard/, /PgBouncer/)
})

test('a port in foreign hands and an address that leads elsewhere fail', async (t) => {
  const answers: Record<string, [number, string]> = { '/healthz': [404, 'no gateway'] }
  const other = createHttpServer((request, response) => {
    const [status, body] = answers[request.url!] ?? [404, '{}']
    response.writeHead(status).end(body)
  })
  const port = await listen(other)
  t.after(() => void other.close())
  const url = `http://127.0.0.1:${port}`
  const taken = await look({ PORT: String(port), SANDBOX_PORT: String(sandboxPort) })
  assertFound(taken('live port'), 'fail', /not a gateway/, /set PORT to another/)
  assertFound(taken('live site'), 'skipped', /"live port"/)
  assertFound(
    (await look({ BASE_URL: url }))('live site'),
    'fail',
    /answers 404, and not as a gateway does/,
    /BASE_URL/,
  )
  answers['/healthz'] = [200, '{"status":"alive"}']
  answers['/readyz'] = [503, '{"status":"not ready"}']
  assertFound((await look({ BASE_URL: url }))('live site'), 'fail', /up and not ready/, /database/)
  answers['/readyz'] = [200, '{"status":"ready"}']
  answers['/.well-known/oauth-authorization-server'] = [200, '{"issuer":"https://other.example"}']
  assertFound(
    (await look({ BASE_URL: url }))('live site'),
    'fail',
    /calls itself https:\/\/other\.example/,
    /alike on every/,
  )
})

test('a certificate is judged by its names, its days and its key', () => {
  const now = new Date('2026-03-02T10:00:00Z')
  const judge = (from: number, to: number, host = 'api.example') => {
    const dates = [new Date(now.getTime() + from * day), new Date(now.getTime() + to * day)] as const
    const { cert } = makeCertificate(['api.example', 'sandbox.example'], ...dates)
    return { check: '', ...judgeCertificate(new X509Certificate(cert), [host], now) }
  }
  assertFound(judge(-1, 90), 'ok', /valid for 90 more days/)
  assertFound(judge(-80, 10), 'warn', /10 more days/, /Renew/)
  assertFound(judge(-80, 2), 'fail', /2 more days/, /Renew/)
  assertFound(judge(-80, -2), 'fail', /ended on/, /Renew/)
  assertFound(judge(2, 90), 'fail', /begins on/, /clock/)
  assertFound(judge(-1, 90, 'api.elsewhere'), 'fail', /not for api\.elsewhere/, /names every address/)
})

test('a gateway with a certificate of its own shows the one in its file', async (t) => {
  const folder = makeFolder()
  const write = (name: string) => {
    const { cert, key } = makeCertificate(
      ['localhost'],
      new Date(Date.now() - hour),
      new Date(Date.now() + 90 * day),
    )
    writeFileSync(join(folder, `${name}.cert`), cert)
    writeFileSync(join(folder, `${name}.key`), key)
    return { TLS_CERT_FILE: join(folder, `${name}.cert`), TLS_KEY_FILE: join(folder, `${name}.key`) }
  }
  const [one, two] = await findFreePorts(2)
  const settings = {
    HOST: 'localhost',
    ...{ PORT: String(one), SANDBOX_PORT: String(two) },
    ...{ BASE_URL: `https://localhost:${one}`, SANDBOX_URL: `https://localhost:${two}` },
    ...write('first'),
  }
  const secure = await openTestGateway(settings)
  t.after(() => secure.close())
  const found = await look(settings)
  assertFound(found('certificate file'), 'ok', /valid for \d+ more days/)
  assertFound(found('live site'), 'ok', /^https:.* up and ready/)
  assertFound(found('live certificate'), 'warn', /does not trust it/, /whole chain/)
  assertFound(found('live TLS'), 'ok', /speaks TLS 1\.3, and 1\.2 with the suites of FAPI 2\.0 alone/)
  const named = { ...settings, MTLS_PORT: '0', MTLS_URL: 'https://mtls.example' }
  assertFound((await look(named))('certificate file'), 'fail', /not for mtls\.example/, /MTLS_URL/)
  const renewed = await look({ ...settings, ...write('second') })
  assertFound(renewed('live certificate'), 'warn', /not the one in TLS_CERT_FILE/, /Restart/)
  const mixed = await look({ ...settings, TLS_KEY_FILE: join(folder, 'second.key') })
  assertFound(mixed('certificate file'), 'fail', /not the key of/, /belong together/)
})

test('name servers that do not answer are named; a node without the worker needs none', async () => {
  const dead = await openDnsServer()
  await dead.close()
  const some = await look({ WEBHOOK_DNS_SERVERS: `${names.address},${dead.address}` })
  assertFound(some('name servers'), 'warn', /answers; 127\.0\.0\.1:\d+ does not/, /WEBHOOK_DNS_SERVERS/)
  const outside = {
    BASE_URL: 'https://api.example',
    SANDBOX_URL: 'https://sandbox.example',
    TRUST_PROXY: '127.0.0.1',
  }
  const none = await look({ ...outside, WEBHOOK_DNS_SERVERS: dead.address })
  assertFound(none('name servers'), 'fail', /does not/, /find no address/)
  assertFound(
    (await look({ ROLES: 'api', WEBHOOK_DNS_SERVERS: dead.address }))('name servers'),
    'ok',
    /no webhooks/,
  )
})

test('what waits too long is told, and a webhook that fails is no reason to call deliveries late', async (t) => {
  const engine = await openEngine({ ROLES: 'api' })
  t.after(() => engine.close())
  const { clock, settings } = engine.house
  const check = (name: string) => look(settings, clock).then((found) => found(name))
  const webhook = await engine.makeWebhook('/hooks')
  await engine.publish({ entity: 'transaction:1' })
  assertFound(await check('numbering'), 'ok', /1 events wait for their number/)
  clock.advance(minute)
  assertFound(await check('numbering'), 'warn', /the oldest for 60 s/, /worker/)
  clock.advance(hour)
  assertFound(await check('numbering'), 'fail', /the oldest for 61 min/, /worker/)
  assertFound(
    await check('promises'),
    'fail',
    /^event:\S+: not so that what was published has a number/,
    /A broken promise/,
  )
  await engine.sql('UPDATE outbox SET created_at = $1', [clock.now()])
  await numberEvents(engine.house)
  assertFound(await check('deliveries'), 'ok', /1 deliveries wait/)
  clock.advance(2 * minute)
  assertFound(await check('deliveries'), 'warn', /the oldest for 2 min/, /worker/)
  clock.advance(hour)
  assertFound(await check('deliveries'), 'fail', /the oldest for 62 min/, /worker/)
  assertFound(await check('promises'), 'ok', /Every promise/)
  assertFound(await check('webhooks'), 'ok', /^0 webhooks fail/)
  await failDeliveries(engine.house, webhook.id, { failures: 12, since: clock.now(), entities: 3 })
  assertFound(await check('webhooks'), 'warn', /^1 webhooks fail, 1 of them/, /countersign webhook list/)
  assertFound(await check('deliveries'), 'ok', /none of them is late/)
})

test('little room on the disk is a warning, hardly any a failure', () => {
  const judge = (mebibytes: number) => ({ check: '', ...judgeSpace('/data', mebibytes * 1024 ** 2) })
  assertFound(judge(10_000), 'ok', /9\.8 GiB free/)
  assertFound(judge(1_000), 'warn', /1\.0 GiB free/, /Make room/)
  assertFound(judge(100), 'fail', /0\.1 GiB free/, /Make room/)
})

test('of a private server only what is there is looked at: nothing is made, and a server at rest is asked and put back to rest', async () => {
  const dataDir = join(makeFolder(), 'data')
  const settings = { DATABASE_URL: '', SECRET_KEY: '', DATA_DIR: dataDir }
  const before = await look(settings)
  assertFound(before('database'), 'warn', /no private server in .* yet/, /Start the gateway/)
  assertFound(before('keys'), 'warn', /secret\.keys does not exist/, /A first start makes it/)
  assert.ok(!existsSync(dataDir))
  const server = await openPrivateServer({ dataDir, purpose: 'serve', searchPath: process.env.PATH ?? '' })
  await server.close()
  const resting = await look(settings)
  assertFound(resting('database'), 'ok', /the private server in .* is primary/)
  assertFound(resting('schema'), 'warn', /empty/, /migrate/)
  assert.ok(!existsSync(join(dataDir, 'secret.keys')), 'no key was made')
})

test('looking leaves the database as it was', async () => {
  const count = async () => (await ask<{ n: number }>(db, 'SELECT count(*) AS n FROM audit_entries'))[0]
  const before = await count()
  await look()
  assert.deepEqual(await count(), before)
})

test('a mail server is greeted and signed in to, without a message; its password is not shown', async (t) => {
  const server = await openMailServer({
    onAuth: ({ username, password }, _session, done) =>
      password === 'right'
        ? done(null, { user: username! })
        : done(Object.assign(new Error('authentication failed'), { responseCode: 535 })),
  })
  t.after(() => server.close())
  const mail = async (user: string) =>
    (await look({ SMTP_URL: server.url(user), MAIL_FROM: 'notices@broker.example' }))('mail server')
  assertFound(await mail('gateway:right'), 'ok', /^127\.0\.0\.1:\d+ lets this node in/)
  const refused = await mail('gateway:hunter2')
  assertFound(refused, 'fail', /EAUTH.*535/, /SMTP_URL, its user and password/)
  assert.ok(!JSON.stringify(refused).includes('hunter2'))
  assert.equal(server.shown.length, 0)
  const [port] = await findFreePorts(1)
  const away = await look({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'notices@broker.example' })
  assertFound(away('mail server'), 'fail', /ECONNREFUSED/, /SMTP_URL/)
})

test('without a mail server notices are files: fine on this machine, a warning where others can reach it', async () => {
  assertFound((await look())('mail server'), 'ok', /become files in .*outbox/)
  const open = {
    BASE_URL: 'https://api.example.com',
    SANDBOX_URL: 'https://sandbox.example.com',
    TRUST_PROXY: '10.0.0.1',
  }
  const config = readConfig({ ...house.settings, ...open })
  assertFound({ check: '', ...(await checkMailServer(config)).finding }, 'warn', /become files/, /SMTP_URL/)
  const api = readConfig({ ...house.settings, ...open, ROLES: 'api' })
  assertFound({ check: '', ...(await checkMailServer(api)).finding }, 'ok', /sends no notices/)
})

test('acts that take two people are told when nobody could decide, and staff without an administrator too', async () => {
  const check = async (settings: NodeJS.ProcessEnv) => {
    const { finding } = await checkFourEyes(db, readConfig({ ...house.settings, ...settings }))
    return { check: 'four eyes', ...finding }
  }
  const administrators = async () => ({ check: 'administrators', ...(await checkAdministrators(db)).finding })
  await ask(db, 'DELETE FROM staff_roles')
  assertFound(await check({}), 'ok', /FOUR_EYES is not set/)
  const two = { FOUR_EYES: 'partner.approve,keys.rotate' }
  const advice = /countersign staff give USER --role ROLE/
  assertFound(
    await check(two),
    'fail',
    /partner\.approve \(0 of 2: partner-manager or administrator\)\.$/,
    advice,
  )
  const boss = await house.makeOperator()
  assertFound(await check(two), 'fail', /partner\.approve \(1 of 2/, advice)
  await house.makeOperator('Paul', ['partner-manager', 'viewer'])
  assertFound(await check(two), 'ok', /^There are two people for each act that takes two\.$/)
  assertFound(await administrators(), 'ok', /^1 person is administrator by hand\.$/)
  await setUserStatus(db, boss, 'disabled', house.act())
  assertFound(await check(two), 'fail', /partner\.approve \(1 of 2/, advice)
  assertFound(
    await administrators(),
    'warn',
    /^Nobody is an administrator by hand/,
    /staff give USER --role administrator/,
  )
  await ask(db, `UPDATE users SET role = 'holder' WHERE role = 'operator'`)
  assertFound(await administrators(), 'ok', /^There is no staff yet\.$/)
})

test('operators without a second factor are counted, and what that means depends on the setting', async () => {
  const away = {
    BASE_URL: 'https://api.example.com',
    SANDBOX_URL: 'https://sandbox.example.com',
    TRUST_PROXY: '127.0.0.1',
  }
  const check = async (settings: NodeJS.ProcessEnv) => {
    const { finding } = await checkOperators(db, readConfig({ ...house.settings, ...settings }))
    return { check: 'operators', ...finding }
  }
  const user = await house.makeOperator()
  assertFound(
    (await look())('operators'),
    'ok',
    /^1 of 1 operators have no second factor\. On this machine alone/,
  )
  assertFound(
    await check(away),
    'warn',
    /^1 of 1 operators have no second factor\.$/,
    /cannot enter the console/,
  )
  const unguarded = { ...away, REQUIRE_SECOND_FACTOR_FOR_OPERATORS: 'false' }
  assertFound(await check(unguarded), 'warn', /^1 of 1/, /REQUIRE_SECOND_FACTOR_FOR_OPERATORS to true/)
  await setUpApp(house, await house.signIn(user))
  assertFound(
    await check(away),
    'ok',
    /^Each of 1 operators has a second factor, here or at their provider\.$/,
  )
})
