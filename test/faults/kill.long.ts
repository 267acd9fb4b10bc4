/**
 * Whatever the gateway acknowledged is there after kill -9, of the gateway, of its PostgreSQL, and of both at
 * once.
 */

import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { issueToken } from '../../src/crypto/token.ts'
import { ask } from '../support/ask.ts'

import { type Answer, Browser, send } from '../support/browser.ts'
import { isRunning } from '../support/children.ts'
import { eventually } from '../support/eventually.ts'
import {
  clusterFolder,
  exchange,
  findPostmaster,
  findServerProcesses,
  obtainCode,
  openPrivateDatabase,
  readProfile,
  refresh,
  revoke,
  signIn,
} from '../support/process.ts'
import {
  checkAllPromisesSoFar,
  checked,
  client,
  dataDir,
  demo,
  gateway,
  isReady,
  killBoth,
  measured,
  refreshToken,
  report,
  startAgain,
  testKills,
} from './suite/kills.ts'

testKills(5)

test('a code that was being exchanged when everything was killed is either whole again or wholly used', async () => {
  const browser = await signIn(gateway.baseUrl, demo)
  const codes: string[] = []
  for (let index = 0; index < 16; index++) codes.push(await obtainCode(browser, client.id))
  const postmaster = findPostmaster(dataDir)!
  const outcomes = codes.map((code) => exchange(gateway.baseUrl, client, code).catch(() => undefined))
  await Promise.any(outcomes)
  killBoth(postmaster)
  const answers = await Promise.all(outcomes)
  await startAgain()
  for (const [index, answer] of answers.entries()) {
    const again = await exchange(gateway.baseUrl, client, codes[index]!)
    if (answer?.status === 200) assert.equal(again.json().error, 'invalid_grant')
    else assert.ok(again.status === 200 || again.json().error === 'invalid_grant', again.text)
  }
  const db = await openPrivateDatabase(dataDir)
  try {
    const halves = await ask(
      db,
      `SELECT g.id FROM grants g WHERE (exchanged_at IS NOT NULL) <> EXISTS (SELECT FROM access_tokens t
          WHERE t.grant_id = g.id)
            OR (exchanged_at IS NOT NULL) <> EXISTS (SELECT FROM refresh_tokens r WHERE r.grant_id = g.id)
            OR (exchanged_at IS NOT NULL) <> EXISTS (
              SELECT FROM audit_entries e WHERE action = 'code.exchanged'
                AND details ->> 'grantId' = g.id::text)`,
    )
    assert.deepEqual(halves, [], 'no grant is half issued')
    const [count] = await ask<{ tokens: number; entries: number }>(
      db,
      `SELECT (SELECT count(*) FROM access_tokens) AS tokens,
                (SELECT count(*) FROM audit_entries
                  WHERE action IN ('code.exchanged', 'token.refreshed')) AS entries`,
    )
    assert.equal(count!.tokens, count!.entries, 'every token has its entry in the audit log')
  } finally {
    await db.close()
  }
})

async function signInSomehow(): Promise<Answer> {
  const stranger = new Browser(gateway.baseUrl)
  const page = await stranger.get('/login')
  if (page.status !== 200) return page
  return stranger.submit(page, '/login', { username: demo.username, password: demo.password })
}

test('while PostgreSQL is away requests get 503 with Retry-After, and the gateway recovers by itself', async (context) => {
  const [token] = checked.living
  const browser = await signIn(gateway.baseUrl, demo)
  assert.equal((await readProfile(gateway.baseUrl, token!)).status, 200)
  // PostgreSQL refuses to start in a folder that others can read: that keeps it away for as long as we like.
  chmodSync(clusterFolder(dataDir), 0o755)
  try {
    const server = findServerProcesses(dataDir)
    process.kill(findPostmaster(dataDir)!, 'SIGKILL')
    // Whoever serves a connection goes on until it notices.
    await eventually('everybody of the server is gone', () => !server.some(isRunning))
    // What is remembered counts until the connection on which changes are heard has gone as well.
    const isAway = async () =>
      !(await isReady()) && (await readProfile(gateway.baseUrl, token!)).status !== 200
    await eventually('not ready', isAway)
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
      assert.doesNotMatch(
        answer.text,
        /postgres|socket|ECONN|ENOENT|SELECT/i,
        `${what} tells nothing of the inside`,
      )
    }
    assert.deepEqual(away['/readyz'].json(), { status: 'not ready' })
    assert.equal(away['a refresh'].json().error, 'temporarily_unavailable')
    assert.equal((await send(`${gateway.baseUrl}/healthz`)).status, 200)
    const forged = issueToken('access', 'live').text.slice(0, -1).concat('_')
    assert.equal(
      (await readProfile(gateway.baseUrl, forged)).status,
      401,
      'garbage is refused without the database',
    )
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
  // Whoever served a connection may be there for a while, and may have come after the others were counted.
  await eventually('the next server starts', () => {
    const running = findServerProcesses(dataDir)
    return running.length > 0 && !running.some((pid) => old.has(pid))
  })
  gateway.kill('SIGTERM')
  const ending = await Promise.race([gateway.ended, wait(60_000, undefined, { ref: false })])
  const left = findServerProcesses(dataDir)
  gateway.kill('SIGKILL')
  assert.deepEqual(ending, { code: 0, signal: null }, gateway.stdout.slice(-2_000) + gateway.stderr)
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
