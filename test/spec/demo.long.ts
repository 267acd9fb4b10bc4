/** For a person, in a minute: what the first start makes, prints and writes down works as it stands. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { type Demo, printDemo } from '../../src/demo/demo.ts'
import { ask } from '../support/ask.ts'
import { postForm, send } from '../support/browser.ts'
import { withCluster } from '../support/copied-cluster.ts'
import { openTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { basic } from '../support/gateway.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import {
  askForConsent,
  endGateway,
  exchange,
  type GatewayProcess,
  makeFolder,
  obtainCode,
  openPrivateDatabase,
  type Program,
  readDemo,
  readProfile,
  runCommand,
  signIn,
  startGateway,
  startProgram,
} from '../support/process.ts'
import { approveForm } from '../support/web.ts'

/** Their own, so that they find no other gateway of this machine. */
const temporary = { TMPDIR: makeFolder() }
const settings = { DATA_DIR: makeFolder(), ...temporary }
const demoFile = join(settings.DATA_DIR, 'demo.json')
let gateway: GatewayProcess
let demo: Demo

before(async () => {
  gateway = await startGateway(settings)
  demo = await readDemo(gateway, settings.DATA_DIR)
  await eventually('it is printed', () => gateway.stdout.includes(printDemo(demo)))
})
after(() => endGateway(gateway))

/** The parts of a value that are not text or numbers of their own. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]))
}

test('demo.json has exactly the facts it promises, and only its owner can read it', () => {
  const client = { clientId: 'string', clientSecret: 'string', callbackUrl: 'string', branchId: 'number' }
  assert.deepEqual(shapeOf(JSON.parse(readFileSync(demoFile, 'utf8'))), {
    baseUrl: 'string',
    sandboxUrl: 'string',
    internalUrl: 'string',
    ...client,
    username: 'string',
    password: 'string',
    apiToken: 'string',
    sandboxToken: 'string',
    operator: { username: 'string', password: 'string' },
    sandbox: client,
  })
  assert.equal(statSync(demoFile).mode & 0o777, 0o600)
})

test('every fact of it is true', async () => {
  assert.equal((await readProfile(demo.baseUrl, demo.apiToken)).status, 200)
  assert.equal((await readProfile(demo.sandboxUrl, demo.sandboxToken)).status, 200)
  assert.equal((await send(`${demo.internalUrl}/internal/v1/customers`)).status, 401)
  for (const site of [
    { url: demo.baseUrl, ...demo },
    { url: demo.sandboxUrl, ...demo.sandbox },
  ]) {
    const client = { id: site.clientId, secret: site.clientSecret }
    const browser = await signIn(site.url, demo)
    const code = await obtainCode(browser, client.id, 'read write market trade stream')
    const tokens = (await exchange(site.url, client, code)).json<{
      access_token: string
      refresh_token: string
    }>()
    const { profile } = (await readProfile(site.url, tokens.access_token)).json<{
      profile: { accounts: unknown[] }
    }>()
    assert.equal(profile.accounts.length, site.url === demo.baseUrl ? 2 : 1)
    const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    assert.equal((await postForm(`${site.url}/v1/oauth/refreshtoken`, fields, basic(client))).status, 200)
  }
  const operator = await signIn(demo.baseUrl, demo.operator)
  assert.equal((await operator.get('/account')).status, 200)
})

test('a newcomer sees whose each account is when an application asks: their own, one held jointly, and one that they advise on', async () => {
  const browser = await signIn(demo.baseUrl, demo)
  const ask = async (scope: string) => (await askForConsent(browser, demo.clientId, scope)).text
  const reading = await ask('read')
  for (const number of ['6YA10001', '6YA10002', '6YA10003'])
    assert.match(reading, new RegExp(`value="${number}"`))
  assert.match(reading, /Bob Example/)
  const trading = await ask('read trade')
  assert.match(trading, /6YA10003[\s\S]*you cannot allow here: Trade for you/)
})

/** What a person would copy from the terminal; a backslash at its end continues a line. */
const printed = (line: RegExp) => [...gateway.stdout.matchAll(line)].map((match) => match[0].trim())
const curl = /^ *curl (?:.*\\\n)*.*$/gm
const paste = (command: string) =>
  execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', timeout: 10_000 })

test('the printed commands work when they are pasted', async () => {
  const [callApi, tradeCode, sendEvent, ...others] = printed(curl)
  assert.deepEqual(others, [])
  const profile = JSON.parse(paste(callApi!)) as { profile: { name: string } }
  assert.equal(profile.profile.name, 'Alice Example')

  const [address] = printed(/^ *http\S+authorize\?\S+$/gm)
  const browser = await signIn(demo.baseUrl, demo)
  const start = await browser.get(address!)
  const page = await browser.get((await browser.get(start.location!)).location!)
  const account = ['6YA10001', '6YA10002']
  const approved = await browser.post('/consent', { ...approveForm(page), account })
  assert.ok(approved.location!.startsWith(`${demo.callbackUrl}?`))
  const code = new URL(approved.location!).searchParams.get('code')!
  const tokens = JSON.parse(paste(tradeCode!.replace('CODE', code))) as Record<string, string>
  assert.equal(tokens.scope, 'read trade')
  assert.equal((await readProfile(demo.baseUrl, tokens.access_token!)).status, 200)

  const event = JSON.parse(paste(sendEvent!)) as Record<string, unknown>
  assert.ok(event.eventId, JSON.stringify(event))
})

test('listen finds the gateway that runs, whatever its folder and its ports are, and asks which of several', async () => {
  const anywhere = { ...temporary, DATA_DIR: undefined }
  const listening = startProgram(['listen', '--after', '0', '--json'], anywhere)
  await eventually('it tells the event that was sent', () => listening.stdout.includes('"TRANSACTION"'))
  listening.kill('SIGTERM')
  await listening.ended
  const event = JSON.parse(listening.stdout.split('\n')[0]!) as Record<string, unknown>
  assert.equal(event.sequence, 1)

  const running = join(temporary.TMPDIR, `countersign-running-${process.getuid!()}`)
  writeFileSync(join(running, String(process.pid)), '/somewhere/else')
  const several = await runCommand(['listen'], anywhere)
  assert.equal(several.code, 2)
  assert.match(several.stderr, /^Several gateways run here/)
  for (const folder of [settings.DATA_DIR, '/somewhere/else'])
    assert.ok(several.stderr.includes(`DATA_DIR=${folder} npx countersign listen`))
  rmSync(join(running, String(process.pid)))

  writeFileSync(join(running, '4194305'), '/of/a/process/that/has/ended')
  chmodSync(running, 0o755)
  const untrusted = await runCommand(['listen'], anywhere)
  assert.match(untrusted.stderr, /^No gateway with demo data runs here/, 'others may have written there')
  chmodSync(running, 0o700)
  const named = await runCommand(['listen'], { ...anywhere, DATA_DIR: '/somewhere/else' })
  assert.match(named.stderr, /^No gateway with demo data runs here/, 'the folder that was named counts')
})

test('a second start keeps everything and tells the new addresses', async () => {
  const browser = await signIn(demo.baseUrl, demo)
  const page = await browser.get('/account/api')
  const made = await browser.submit(page, '/account/api/tokens', { name: 'mine', environment: 'live' })
  const mine = /<code class="secret">(\w+)</.exec(made.text)![1]!
  await endGateway(gateway)
  gateway = await startGateway(settings)
  const again = await readDemo(gateway, settings.DATA_DIR)
  const { baseUrl, sandboxUrl, internalUrl } = gateway
  assert.deepEqual(again, { ...demo, baseUrl, sandboxUrl, internalUrl })
  await eventually('it is printed again', () => gateway.stdout.includes(printDemo(again)))
  for (const token of [demo.apiToken, mine])
    assert.equal((await readProfile(gateway.baseUrl, token)).status, 200)
  demo = again
})

/** But for test holders, which every partner is given. */
const countPeople = async (db: Database) => {
  const text = `SELECT (SELECT count(*) FROM users WHERE role != 'test')
    + (SELECT count(*) FROM partners) AS people`
  return (await ask<{ people: number }>(db, text))[0]!.people
}

/** Told to stop at once, it finishes its start first, the demo with it. */
async function startAndStop(own: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  const started = await startGateway(own)
  assert.deepEqual(await started.stop(), { code: 0, signal: null }, started.stderr)
  return started
}

test('there is no demo on a database of one’s own', async () => {
  const database = await openTestDatabase()
  const db = openLenientDatabase({ connectionString: database.url, connections: 1 })
  try {
    const own = { DATA_DIR: makeFolder(), DATABASE_URL: database.url, SECRET_KEY: 'ab'.repeat(32) }
    const { stdout } = await startAndStop(own)
    assert.doesNotMatch(stdout, /demo data/)
    assert.equal(await countPeople(db), 0)
    assert.ok(!existsSync(join(own.DATA_DIR, 'demo.json')))
  } finally {
    await db.close()
    await database.close()
  }
})

test('there is no demo where others can reach the gateway, nor beside data made by hand', async () => {
  const own = { DATA_DIR: await withCluster(makeFolder()) }
  const reachable = { BASE_URL: 'https://api.example.com', SANDBOX_URL: 'https://sandbox.example.com' }
  const open = await startGateway({ ...own, ...reachable, TRUST_PROXY: '127.0.0.1' })
  try {
    const made = await runCommand(['partner', 'create', '--name', 'By hand', '--json'], own)
    assert.equal(made.json().branch_id, 1, made.stderr)
    const db = await openPrivateDatabase(own.DATA_DIR)
    assert.equal(await countPeople(db), 1, 'there is only what was made by hand')
    await db.close()
  } finally {
    await endGateway(open)
  }
  assert.doesNotMatch(open.stdout, /demo data/)
  const { stdout } = await startAndStop(own)
  assert.doesNotMatch(stdout, /demo data/)
  assert.ok(!existsSync(join(own.DATA_DIR, 'demo.json')))
})

test('a first start that was killed while it made the demo leaves a folder that the next start completes', async () => {
  const own = { DATA_DIR: makeFolder() }
  const program = startProgram(['serve'], own)
  await killInTheMiddle(program, own.DATA_DIR).finally(() => program.kill('SIGKILL'))
  await program.ended
  assert.ok(!existsSync(join(own.DATA_DIR, 'demo.json')), 'it was in the middle')
  const next = await startGateway(own)
  try {
    const complete = await readDemo(next, own.DATA_DIR)
    // The file is there before the data are committed.
    const isTaken = async () => (await readProfile(next.baseUrl, complete.apiToken)).status === 200
    await eventually('its token is taken', isTaken)
    await obtainCode(await signIn(next.baseUrl, complete), complete.clientId)
  } finally {
    await endGateway(next)
  }
})

/** Nothing can be added to a table that is locked, so the demo stops half way. */
async function killInTheMiddle(program: Program, dataDir: string): Promise<void> {
  await eventually('its server runs', () => existsSync(join(dataDir, 'postgres', 'socket', '.s.PGSQL.5432')))
  const db = await openPrivateDatabase(dataDir)
  const answers = (text: string) => ask<{ answer: unknown }>(db, text).catch(() => [])
  await eventually('there are tables', async () => {
    const [found] = await answers("SELECT to_regclass('partners') AS answer")
    return found?.answer != null
  })
  const locked = db.transaction(async (sql) => {
    await sql.script(
      'SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE partners IN EXCLUSIVE MODE',
    )
    const waiting = "SELECT 1 AS answer FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    await eventually('the demo waits', async () => (await answers(waiting)).length > 0)
    program.kill('SIGKILL')
    await program.ended
  })
  // The server ends with its gateway, before the lock is given back.
  await locked.catch((error: unknown) => assert.match(String(error), /The database is away/))
  await db.close()
}
