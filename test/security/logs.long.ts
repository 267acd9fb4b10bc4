/**
 * Nothing that could be used is ever written down: a gateway that logs and traces all it can is led through
 * everything that goes right and wrong.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { issueToken } from '../../src/crypto/token.ts'
import { type Demo, printDemo } from '../../src/demo/demo.ts'
import { callJson, transaction } from '../support/branch.ts'
import { type Answer, Browser, hiddenFields, postForm, send } from '../support/browser.ts'
import { isRunning } from '../support/children.ts'
import { type Collector, openCollector } from '../support/collector.ts'
import { withCluster } from '../support/copied-cluster.ts'
import { eventually } from '../support/eventually.ts'
import { basic } from '../support/gateway.ts'
import {
  askForConsent,
  clusterFolder,
  endGateway,
  exchange,
  findPostmaster,
  findServerProcesses,
  type GatewayProcess,
  makeFolder,
  obtainCode,
  readDemo,
  readProfile,
  refresh,
  revoke,
  runCommand,
  signIn,
  startGateway,
} from '../support/process.ts'
import { answer, openReceiver } from '../support/receiver.ts'

const dataDir = await withCluster(makeFolder())
const secrets = new Map<string, string>()
/**
 * What the database must know and the log must not: contents of events and answers, addresses of receivers,
 * signatures.
 */
const unspoken = new Map<string, string>()
let collector: Collector
let gateway: GatewayProcess
let demo: Demo
let output = ''

function keep(what: string, secret: string | undefined): string {
  assert.ok(secret !== undefined && secret.length >= 12, `${what}: ${secret}`)
  secrets.set(what, secret)
  return secret
}

/** A word that occurs nowhere else. */
function invent(what: string): string {
  const word = `unspoken-${randomBytes(8).toString('hex')}`
  unspoken.set(what, word)
  return word
}

function keepCookies(whose: string, browser: Browser): void {
  for (const [name, value] of browser.cookies) keep(`${name} of ${whose}`, value)
}

function tokensOf(answer: Answer): { access_token: string; refresh_token: string } {
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

before(async () => {
  collector = await openCollector()
  gateway = await startGateway({
    DATA_DIR: dataDir,
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${keep('credential of the collector', randomBytes(12).toString('hex'))}`,
  })
  demo = await readDemo(gateway, dataDir)
  keep('client secret', demo.clientSecret)
  keep('sandbox client secret', demo.sandbox.clientSecret)
  keep('password', demo.password)
  keep('operator password', demo.operator.password)
  keep('API token', demo.apiToken)
  keep('sandbox token', demo.sandboxToken)
  keep(
    'client credentials as base64',
    Buffer.from(`${demo.clientId}:${demo.clientSecret}`).toString('base64'),
  )
  keep('key', readFileSync(join(dataDir, 'secret.keys'), 'utf8').trim())
  await signInAndOut()
  await authorizeEverything()
  await deliverEverything()
  await doEverythingWrong()
  await loseTheDatabase()
  await endGateway(gateway)
  // The banner with the demo's credentials is meant to be read; it is no part of the log.
  const banner = printDemo(demo)
  assert.ok(gateway.stdout.includes(banner))
  output = gateway.stdout.replace(banner, '') + gateway.stderr
})
after(async () => {
  await endGateway(gateway)
  await collector.close()
})

async function signInAndOut(): Promise<void> {
  const browser = new Browser(gateway.baseUrl)
  const page = await browser.get('/login')
  keep('form token of a visit', hiddenFields(page.text, '/login').csrf)
  keepCookies('a visitor', browser)
  const typed = keep('password typed as a username', `Secret-${randomBytes(6).toString('hex')}`)
  const wrong = keep('wrong password', `wrong-${randomBytes(6).toString('hex')}`)
  const attempts = [
    { username: typed, password: 'whatever it is' },
    { username: demo.username, password: wrong },
    { username: `${demo.username}\0`, password: wrong },
    { username: demo.username, password: wrong.repeat(200) },
    { username: demo.username, password: demo.password },
  ]
  for (const attempt of attempts) await browser.submit(page, '/login', attempt)
  keepCookies('a holder who signs out', browser)
  const account = await browser.get('/account')
  keep('form token of a session', hiddenFields(account.text, '/logout').csrf)
  assert.equal((await browser.submit(account, '/logout', {})).status, 303)
}

async function authorizeEverything(): Promise<void> {
  const client = { id: demo.clientId, secret: demo.clientSecret }
  const browser = await signIn(gateway.baseUrl, demo)
  keepCookies('a holder', browser)
  const denied = await askForConsent(browser, client.id, 'read')
  keep('form token of a consent', hiddenFields(denied.text, '/consent').csrf)
  await browser.submit(denied, '/consent', { decision: 'deny' })

  keep('code that nobody used', await obtainCode(browser, client.id))
  const code = keep('code', await obtainCode(browser, client.id, 'read trade'))
  const first = tokensOf(await exchange(gateway.baseUrl, client, code))
  keep('access token', first.access_token)
  keep('refresh token', first.refresh_token)
  const second = tokensOf(await refresh(gateway.baseUrl, client, first.refresh_token))
  keep('second access token', second.access_token)
  await readProfile(gateway.baseUrl, second.access_token)
  await postForm(`${gateway.baseUrl}/v1/oauth/introspect`, { token: second.access_token }, basic(client))
  await revoke(gateway.baseUrl, client, second.access_token)
  assert.equal((await readProfile(gateway.baseUrl, second.access_token)).status, 401)
  assert.equal((await exchange(gateway.baseUrl, client, code)).status, 400, 'replayed')

  const page = await browser.get('/account/api')
  const made = await browser.submit(page, '/account/api/tokens', { name: 'mine', environment: 'live' })
  const own = keep('API token made on the page', /<code class="secret">(\w+)</.exec(made.text)?.[1])
  assert.equal((await readProfile(gateway.baseUrl, own)).status, 200)
}

/**
 * Webhooks that are made, changed, tested and delivered to, by a client, by a member, and by a system of the
 * brokerage.
 */
async function deliverEverything(): Promise<void> {
  const { baseUrl } = gateway
  const receiver = await openReceiver()
  const credentials = basic({ id: demo.clientId, secret: demo.clientSecret })
  const url = `${receiver.url('/hooks')}?key=${invent('key in the address of a receiver')}`
  const first = keep('webhook secret', `hook-${randomBytes(12).toString('hex')}`)
  const made = await callJson(`${baseUrl}/v2/webhooks`, 'POST', { url, secret: first }, credentials)
  assert.equal(made.status, 201, made.text)
  const webhook = `${baseUrl}/v2/webhooks/${made.json().id}`
  const next = keep('next webhook secret', `hook-${randomBytes(12).toString('hex')}`)
  assert.equal((await callJson(`${webhook}/secret`, 'POST', { secret: next }, credentials)).status, 204)
  const late = keep('webhook secret that comes late', `hook-${randomBytes(12).toString('hex')}`)
  const switchAt = Date.now() + 3_600_000
  assert.equal(
    (await callJson(`${webhook}/secret`, 'POST', { secret: late, switchAt }, credentials)).status,
    204,
  )

  const account = invent('content of an event')
  const prefer = { prefer: 'wait=20' }
  const hook = transaction({ clearingAccount: account })
  const personal = { authorization: `Bearer ${demo.apiToken}` }
  for (const headers of [credentials, personal])
    await callJson(`${baseUrl}/v2/webhooks/transaction`, 'POST', hook, { ...headers, ...prefer })
  await publishAsService(account)
  receiver.otherwise = answer(500, { 'x-word': invent('header of an answer') })
  await callJson(`${baseUrl}/v2/webhooks/transaction`, 'POST', hook, { ...credentials, ...prefer })
  for (const { headers } of await receiver.wait(3)) {
    unspoken.set(`signature ${headers['webhook-id']}`, headers['x-webhook-signature']!)
    unspoken.set(
      `standard signature ${headers['webhook-id']}`,
      headers['webhook-signature']!.slice('v1,'.length),
    )
  }
  assert.equal((await callJson(webhook, 'DELETE', undefined, credentials)).status, 204)
  await receiver.close()
}

async function publishAsService(clearingAccount: string): Promise<void> {
  const made = await runCommand(['service', 'create', '--name', 'ledger', '--json'], { DATA_DIR: dataDir })
  const { id, secret } = made.json<{ id: string; secret: string }>()
  const ledger = basic({ id, secret: keep('service secret', secret) })
  const events = [transaction({ branchId: demo.branchId, clearingAccount })]
  const url = `${gateway.internalUrl}/internal/v1/events`
  assert.equal((await callJson(url, 'POST', { events }, ledger)).status, 202)
  const keyed = { ...ledger, 'idempotency-key': invent('idempotency key') }
  assert.equal((await callJson(url, 'POST', { events }, keyed)).status, 202)
  assert.equal((await callJson(url, 'POST', { events: [{ ...events[0], secret }] }, ledger)).status, 400)
  await postForm(`${gateway.baseUrl}/v1/oauth/introspect`, { token: demo.apiToken }, ledger)
}

/** Requests that fail with something precious in them. */
async function doEverythingWrong(): Promise<void> {
  const { baseUrl, sandboxUrl, internalUrl } = gateway
  const client = { id: demo.clientId, secret: demo.clientSecret }
  const guess = keep('guessed secret', issueToken('clientSecret', 'live').text)
  const token = demo.apiToken
  const code = secrets.get('code')!
  const tokenUrl = `${baseUrl}/v1/oauth/accesstoken`
  const json = { 'content-type': 'application/json' }
  const bearer = { authorization: `Bearer ${token}` }
  const attempts: Promise<Answer>[] = [
    exchange(baseUrl, { ...client, secret: guess }, code),
    exchange(sandboxUrl, { id: demo.sandbox.clientId, secret: demo.sandbox.clientSecret }, code),
    exchange(baseUrl, client, issueToken('code', 'live').text),
    refresh(baseUrl, client, demo.clientSecret),
    postForm(`${tokenUrl}?client_secret=${demo.clientSecret}&code=${code}`, {
      grant_type: 'authorization_code',
    }),
    postForm(tokenUrl, { client_id: client.id, client_secret: [client.secret, guess], grant_type: 'x' }),
    postForm(tokenUrl, { grant_type: 'authorization_code', code: [code, code] }, basic(client)),
    send(tokenUrl, { method: 'POST', headers: { ...json, ...basic(client) }, body: `{"code":"${code}"` }),
    send(tokenUrl, { method: 'POST', headers: { ...json, ...basic(client) }, body: code.repeat(400) }),
    send(`${tokenUrl}?code=${code}`, { headers: basic(client) }),
    readProfile(baseUrl, demo.sandboxToken),
    readProfile(baseUrl, `${token}x`),
    send(`${baseUrl}/v1/user/profile?access_token=${token}`),
    send(`${baseUrl}/${token}`, { headers: bearer }),
    send(`${baseUrl}/v1/user/profile/${token}?token=${token}#${token}`, {
      method: 'DELETE',
      headers: bearer,
    }),
    send(`${baseUrl}/v1/user/profile`, {
      headers: { authorization: `Bearer ${token} ${'x'.repeat(20_000)}` },
    }),
    send(`${baseUrl}/%zz${token}`, { headers: bearer }),
    send(`${baseUrl}/v2/webhooks/${token}${token}${token}`, { headers: basic(client) }),
    send(`${baseUrl}/v2/webhooks/${token}?secret=${client.secret}`, { headers: basic(client) }),
    send(`${baseUrl}/v1/user/profile`, {
      headers: { 'x-request-id': token, traceparent: token, 'x-api-key': token },
    }),
    send(`${baseUrl}/v1/user/profile`, {
      headers: { authorization: `Basic ${token}`, cookie: `t=${token}`, accept: token },
    }),
    send(`${baseUrl}/v2/events?after=${token}`, { headers: { ...basic(client), 'last-event-id': token } }),
    callJson(
      `${baseUrl}/v2/webhooks`,
      'POST',
      { url: `https://u:${guess}@example.com/`, secret: 7 },
      basic(client),
    ),
    callJson(`${baseUrl}/v2/webhooks`, 'POST', { url: token, [client.secret]: client.secret }, basic(client)),
    callJson(`${internalUrl}/internal/v1/events`, 'POST', { events: [{ type: token }] }, basic(client)),
    callJson(`${internalUrl}/internal/v1/events`, 'POST', `{"secret": "${client.secret}"`, basic(client)),
    postForm(`${baseUrl}/v1/oauth/revoke?token=${token}`, { token }, basic({ ...client, secret: guess })),
    postForm(`${baseUrl}/v1/oauth/introspect`, { token: [token, code] }, basic(client)),
    send(`${baseUrl}/v1/oauth/authorize?client_id=${client.secret}&state=${code}`),
    send(
      `${baseUrl}/v1/oauth/authorize?client_id=${client.id}&redirect_uri=${token}&state=${code}&scope=read`,
    ),
    send(`${baseUrl}/login?request=${token}&return=${token}`, { headers: { accept: 'text/html' } }),
    send(`${baseUrl}/account`, { headers: { cookie: `countersign-live-session=${guess}` } }),
    postForm(`${baseUrl}/login`, { username: 'alice', password: demo.password, csrf: guess }),
  ]
  const answers = await Promise.all(attempts)
  assert.deepEqual(
    answers.filter((answer) => answer.status < 300 || answer.status >= 500).map((answer) => answer.text),
    [],
  )
  await speak(`NONSENSE ${token}\r\n\r\n`)
  await speak(`GET / HTTP/1.1\r\nhost: x\r\nauthorization Bearer ${token}\r\n\r\n`)
}

/** What is no HTTP at all. */
function speak(words: string): Promise<void> {
  const { hostname, port } = new URL(gateway.baseUrl)
  return new Promise((done, fail) => {
    const socket = connect(Number(port), hostname, () => socket.end(words))
    socket
      .resume()
      .once('close', () => done())
      .once('error', fail)
  })
}

/** Failures of the inside are logged with all that is known of them. */
async function loseTheDatabase(): Promise<void> {
  const client = { id: demo.clientId, secret: demo.clientSecret }
  const browser = await signIn(gateway.baseUrl, demo)
  const page = await browser.get('/account/api')
  const stranger = new Browser(gateway.baseUrl)
  const login = await stranger.get('/login')
  // PostgreSQL does not start in a folder that others can read.
  chmodSync(clusterFolder(dataDir), 0o755)
  const server = findServerProcesses(dataDir)
  process.kill(findPostmaster(dataDir)!, 'SIGKILL')
  await eventually('all of the server is gone', () => !server.some(isRunning))
  await eventually(
    'the database is away',
    async () => (await send(`${gateway.baseUrl}/readyz`)).status === 503,
  )
  const answers = [
    await readProfile(gateway.baseUrl, demo.apiToken),
    await refresh(gateway.baseUrl, client, secrets.get('refresh token')!),
    await exchange(gateway.baseUrl, client, secrets.get('code that nobody used')!),
    await browser.submit(page, '/account/api/tokens', { name: 'mine', environment: 'live' }),
    await stranger.submit(login, '/login', { username: demo.username, password: demo.password }),
  ]
  chmodSync(clusterFolder(dataDir), 0o700)
  for (const answer of answers) assert.equal(answer.status, 503)
}

function found(text: string | Buffer, wanted: ReadonlyMap<string, string> = secrets): string[] {
  const isIn = (secret: string) => text.includes(secret) || text.includes(secret.toLowerCase())
  return [...wanted].filter(([, secret]) => isIn(secret)).map(([what]) => what)
}

test('the log tells of every request, by its route and without its address', () => {
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  const requests = lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'request')
  assert.ok(requests.length > 50, `there is a log to look at: ${requests.length} requests`)
  const routes = new Set(requests.map((line) => line.route))
  for (const route of [
    '/login',
    '/consent',
    '/v1/oauth/accesstoken',
    '/v1/oauth/refreshtoken',
    '/v1/user/profile',
  ]) {
    assert.ok(routes.has(route), route)
  }
  assert.ok(!routes.has('/readyz'), 'health checks, which come every few seconds, leave no line')
  assert.ok(
    lines.some((line) => line.includes('"msg":"request failed"')),
    'failures of the inside are in it',
  )
  for (const line of requests)
    assert.ok(line.request_id && line.address === '127.0.0.1' && line.status >= 200)
})

test('the log holds no secret, code, token, password or cookie, whatever went wrong', () => {
  assert.ok(secrets.size > 20, `there is something to look for: ${[...secrets.keys()]}`)
  assert.deepEqual(found(output), [])
})

test('nor contents of events, addresses of receivers, their answers, or signatures', () => {
  assert.ok(unspoken.size >= 8, `there is something to look for: ${[...unspoken.keys()]}`)
  assert.ok(output.includes('"msg":"attempt"'), 'attempts are in it')
  assert.deepEqual(found(output, unspoken), [])
})

test('traces hold none of it either', () => {
  const names = new Set(collector.spans.map((span) => span.name))
  for (const name of ['POST /v1/oauth/accesstoken', 'POST /internal/v1/events', 'POST /login', 'attempt'])
    assert.ok(names.has(name), `${name} is in ${[...names]}`)
  assert.deepEqual([...found(collector.text), ...found(collector.text, unspoken)], [])
})

test('nor do the files of the private PostgreSQL, its own log and its write-ahead log among them', () => {
  const home = join(dataDir, 'postgres')
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const held = files.flatMap(({ parentPath, name }) => {
    const path = join(parentPath, name)
    return found(readFileSync(path)).map((what) => `${path.slice(home.length)}: ${what}`)
  })
  assert.ok(files.some(({ name }) => name === 'server.log') && files.length > 500)
  assert.deepEqual(held, [])
})
