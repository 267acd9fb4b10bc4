/** Whatever the gateway acknowledged is there after kill -9, of the gateway, of its PostgreSQL, and of both at once. */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { issueToken } from '../../src/crypto/token.ts'
import { statement } from '../../src/database/database.ts'
import type { Demo } from '../../src/demo.ts'
import { type Answer, Browser, send } from '../support/browser.ts'
import {
  type Credentials,
  checkRuns,
  clusterFolder,
  endGateway,
  eventually,
  exchange,
  findPostmaster,
  findServerProcesses,
  type GatewayProcess,
  makeFolder,
  obtainCode,
  openPrivateDatabase,
  readDemo,
  readProfile,
  refresh,
  revoke,
  signIn,
  startGateway,
} from '../support/process.ts'

const rounds = 10
const settings = { DATA_DIR: makeFolder() }
const dataDir = settings.DATA_DIR

let gateway: GatewayProcess
let demo: Demo
let client: Credentials
let browser: Browser
let refreshToken: string
const recoveries: Record<string, number[]> = {}

before(async () => {
  gateway = await startGateway(settings)
  demo = await readDemo(gateway, dataDir)
  client = { id: demo.clientId, secret: demo.clientSecret }
  browser = await signIn(gateway.baseUrl, demo)
  const answer = await exchange(gateway.baseUrl, client, await obtainCode(browser, client.id))
  refreshToken = answer.json<{ refresh_token: string }>().refresh_token
})
after(() => endGateway(gateway))

/** A test that left the gateway in pieces fails alone. */
beforeEach(async () => {
  if (await isReady().catch(() => false)) return
  gateway.kill('SIGKILL')
  await startAgain()
})

/** What the gateway has promised. A request without an answer promises nothing, so its token is on neither list. */
const promised = { living: new Set<string>(), revoked: new Set<string>() }
const checked = { living: new Set<string>(), revoked: new Set<string>() }

/** Refreshes, and revokes every third token, until told to stop or cut off. */
async function keepWriting(stop: AbortSignal, acknowledged: () => void, refused: (answer: Answer) => void) {
  for (let turn = 0; !stop.aborted; turn++) {
    const answer = await refresh(gateway.baseUrl, client, refreshToken)
    if (answer.status !== 200) {
      refused(answer)
      await wait(25)
      continue
    }
    const token = answer.json<{ access_token: string }>().access_token
    promised.living.add(token)
    acknowledged()
    if (turn % 3 !== 0) continue
    promised.living.delete(token)
    if ((await revoke(gateway.baseUrl, client, token)).status === 200) promised.revoked.add(token)
  }
}

/** Kills in the middle of writes, once this many have been acknowledged. Answers the requests that were refused. */
async function killWhileWriting(kill: () => void, recover: () => Promise<void>, writes = 10): Promise<Answer[]> {
  const stop = new AbortController()
  const refusals: Answer[] = []
  let acknowledged = 0
  const count = () => acknowledged++
  const keep = (answer: Answer) => refusals.push(answer)
  const cutOff = () => {}
  const writers = Array.from({ length: 4 }, () => keepWriting(stop.signal, count, keep).catch(cutOff))
  try {
    await eventually(`${writes} acknowledged writes`, () => acknowledged >= writes)
    kill()
    await recover()
  } finally {
    stop.abort()
    await Promise.all(writers)
  }
  return refusals
}

async function checkPromises(): Promise<void> {
  await Promise.all([checkStatus(promised.living, 200), checkStatus(promised.revoked, 401)])
  for (const kind of ['living', 'revoked'] as const) {
    for (const token of promised[kind]) checked[kind].add(token)
    promised[kind].clear()
  }
}

async function checkAllPromisesSoFar(): Promise<void> {
  assert.ok(checked.living.size >= 50 && checked.revoked.size >= 10, 'there is something to check')
  await Promise.all([checkStatus(checked.living, 200), checkStatus(checked.revoked, 401)])
}

async function checkStatus(tokens: ReadonlySet<string>, expected: 200 | 401): Promise<void> {
  for (const token of tokens) {
    const { status } = await readProfile(gateway.baseUrl, token)
    assert.equal(
      status,
      expected,
      expected === 200 ? 'an acknowledged token works' : 'an acknowledged revocation holds',
    )
  }
}

async function measured(what: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await work()
  recoveries[what] = [...(recoveries[what] ?? []), Math.round(performance.now() - startedAt)]
}

const isReady = () => send(`${gateway.baseUrl}/readyz`).then((answer) => answer.status === 200)

async function startAgain(): Promise<void> {
  await gateway.ended
  gateway = await startGateway(settings)
}

function report(what: string): string {
  const times = recoveries[what]!.toSorted((left, right) => left - right)
  return `${what}: median ${times[Math.floor(times.length / 2)]} ms, worst ${times.at(-1)} ms, ${times.length} times`
}

test('every acknowledged write survives kill -9 of the gateway, ten times in a row', async (context) => {
  for (let round = 0; round < rounds; round++) {
    await killWhileWriting(
      () => gateway.kill('SIGKILL'),
      () => measured('from kill -9 of the gateway to the next one ready', startAgain),
    )
    await checkPromises()
  }
  await checkAllPromisesSoFar()
  context.diagnostic(report('from kill -9 of the gateway to the next one ready'))
})

test('every acknowledged write survives kill -9 of the private PostgreSQL, ten times in a row', async (context) => {
  const { pid } = gateway
  for (let round = 0; round < rounds; round++) {
    const postmaster = findPostmaster(dataDir)!
    const refusals = await killWhileWriting(
      () => process.kill(postmaster, 'SIGKILL'),
      () =>
        measured('from kill -9 of PostgreSQL to ready again', async () => {
          await eventually('a new PostgreSQL', () => {
            checkRuns(gateway)
            return ![undefined, postmaster].includes(findPostmaster(dataDir))
          })
          await eventually('ready again', isReady)
        }),
    )
    for (const { status, headers } of refusals) {
      assert.equal(status, 503, 'whoever cannot be served is told to come back')
      assert.ok(Number(headers['retry-after']) > 0)
    }
    await checkPromises()
  }
  await checkAllPromisesSoFar()
  assert.equal(gateway.pid, pid, 'the gateway itself has lived through all of it')
  context.diagnostic(report('from kill -9 of PostgreSQL to ready again'))
})

test('every acknowledged write survives kill -9 of both at once, ten times in a row', async (context) => {
  for (let round = 0; round < rounds; round++) {
    const postmaster = findPostmaster(dataDir)!
    await killWhileWriting(
      () => {
        gateway.kill('SIGKILL')
        process.kill(postmaster, 'SIGKILL')
      },
      () => measured('from kill -9 of both to ready', startAgain),
    )
    await checkPromises()
  }
  await checkAllPromisesSoFar()
  context.diagnostic(report('from kill -9 of both to ready'))
})

test('a code that was being exchanged when everything was killed is either whole again or wholly used', async () => {
  browser = await signIn(gateway.baseUrl, demo)
  const codes: string[] = []
  for (let index = 0; index < 16; index++) codes.push(await obtainCode(browser, client.id))
  const postmaster = findPostmaster(dataDir)!
  const outcomes = codes.map((code) => exchange(gateway.baseUrl, client, code).catch(() => undefined))
  await Promise.any(outcomes)
  gateway.kill('SIGKILL')
  process.kill(postmaster, 'SIGKILL')
  const answers = await Promise.all(outcomes)
  await startAgain()
  for (const [index, answer] of answers.entries()) {
    const again = await exchange(gateway.baseUrl, client, codes[index]!)
    if (answer?.status === 200) assert.equal(again.json().error, 'invalid_grant')
    else assert.ok(again.status === 200 || again.json().error === 'invalid_grant', again.text)
  }
  const db = await openPrivateDatabase(dataDir)
  try {
    const halves = await db.query(
      statement(
        '',
        `SELECT g.id FROM grants g WHERE (exchanged_at IS NOT NULL) <> EXISTS (SELECT FROM access_tokens t WHERE t.grant_id = g.id)
            OR (exchanged_at IS NOT NULL) <> EXISTS (SELECT FROM refresh_tokens r WHERE r.grant_id = g.id)
            OR (exchanged_at IS NOT NULL) <> EXISTS (
              SELECT FROM audit_entries e WHERE action = 'code.exchanged' AND details ->> 'grantId' = g.id::text)`,
      ),
    )
    assert.deepEqual(halves, [], 'no grant is half issued')
    const [count] = await db.query<{ tokens: number; entries: number }>(
      statement(
        '',
        `SELECT (SELECT count(*) FROM access_tokens) AS tokens,
                (SELECT count(*) FROM audit_entries WHERE action IN ('code.exchanged', 'token.refreshed')) AS entries`,
      ),
    )
    assert.equal(count!.tokens, count!.entries, 'every token has its entry in the audit log')
  } finally {
    await db.close()
  }
})

async function signInSomehow(): Promise<Answer> {
  const stranger = new Browser(gateway.baseUrl)
  return stranger.submit(await stranger.get('/login'), '/login', { username: demo.username, password: demo.password })
}

test('while PostgreSQL is away requests get 503 with Retry-After, and the gateway recovers by itself', async (context) => {
  const [token] = checked.living
  browser = await signIn(gateway.baseUrl, demo)
  assert.equal((await readProfile(gateway.baseUrl, token!)).status, 200)
  // PostgreSQL refuses to start in a folder that others can read: that keeps it away for as long as we like.
  chmodSync(clusterFolder(dataDir), 0o755)
  try {
    process.kill(findPostmaster(dataDir)!, 'SIGKILL')
    await eventually('not ready', async () => !(await isReady()))
    const away = {
      '/readyz': await send(`${gateway.baseUrl}/readyz`),
      'a remembered token': await readProfile(gateway.baseUrl, token!),
      'a refresh': await refresh(gateway.baseUrl, client, refreshToken),
      'a revocation': await revoke(gateway.baseUrl, client, token!),
      'the account page': await browser.get('/account'),
      'a sign-in': await signInSomehow(),
    }
    for (const [what, answer] of Object.entries(away)) {
      assert.equal(answer.status, 503, `${what}: ${answer.text}`)
      assert.ok(Number(answer.headers['retry-after']) > 0, `${what} says when to come back`)
      assert.doesNotMatch(answer.text, /postgres|socket|ECONN|ENOENT|SELECT/i, `${what} tells nothing of the inside`)
    }
    assert.deepEqual(away['/readyz'].json(), { status: 'not ready' })
    assert.equal(away['a refresh'].json().error, 'temporarily_unavailable')
    assert.equal((await send(`${gateway.baseUrl}/healthz`)).status, 200)
    const forged = issueToken('access', 'live').text.slice(0, -1).concat('_')
    assert.equal((await readProfile(gateway.baseUrl, forged)).status, 401, 'garbage is refused without the database')
  } finally {
    chmodSync(clusterFolder(dataDir), 0o700)
  }
  await measured('from PostgreSQL being able to start to ready', () => eventually('ready again', isReady))
  context.diagnostic(report('from PostgreSQL being able to start to ready'))
  assert.equal((await readProfile(gateway.baseUrl, token!)).status, 200)
  assert.equal((await refresh(gateway.baseUrl, client, refreshToken)).status, 200)
})

test('a gateway that is told to stop while its PostgreSQL is being started again ends and leaves nothing behind', async () => {
  const old = new Set(findServerProcesses(dataDir))
  process.kill(findPostmaster(dataDir)!, 'SIGKILL')
  await eventually('the next server starts', () => findServerProcesses(dataDir).some((pid) => !old.has(pid)))
  gateway.kill('SIGTERM')
  const ending = await Promise.race([gateway.ended, wait(10_000)])
  const left = findServerProcesses(dataDir)
  gateway.kill('SIGKILL')
  assert.deepEqual(ending, { code: 0, signal: null })
  assert.deepEqual(left, [])
})

test('after kill -9 of the gateway no server process is left', async (context) => {
  const server = findServerProcesses(dataDir)
  assert.ok(server.length > 3, 'there is a server to begin with')
  gateway.kill('SIGKILL')
  await gateway.ended
  const startedAt = performance.now()
  await eventually('no server process is left', () => findServerProcesses(dataDir).length === 0)
  context.diagnostic(`the server was gone ${Math.round(performance.now() - startedAt)} ms after its gateway`)
  assert.equal(findPostmaster(dataDir), undefined, 'it ended in order')
})

test('a gateway that is told to stop ends its server in order and with code 0', async () => {
  await checkAllPromisesSoFar()
  assert.deepEqual(await gateway.stop(), { code: 0, signal: null })
  assert.deepEqual(findServerProcesses(dataDir), [])
  assert.equal(findPostmaster(dataDir), undefined)
})
