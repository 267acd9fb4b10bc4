/** What is dead leaves the database; what lives, and what is needed to tell a replay, stays. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, hour, minute, second } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { ask } from '../support/ask.ts'
import { type Answer, Browser } from '../support/browser.ts'
import { makeKey } from '../support/client-keys.ts'
import { makeFapi2Client, makePkce, push, signAssertion, signProof } from '../support/fapi.ts'
import { openHouse, type TestClient } from '../support/gateway.ts'
import { askForConsent } from '../support/process.ts'

const house = await openHouse()
const db = house.gateway.context.db

const remove = () => removeDead(house.gateway.context)

const countRows = async (table: string, condition = 'true'): Promise<number> => {
  const [row] = await ask<{ rows: number }>(db, `SELECT count(*) AS rows FROM ${table} WHERE ${condition}`)
  return row!.rows
}

function tokensOf(answer: Answer): { access_token: string; refresh_token: string } {
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

const errorOf = (answer: Answer) => answer.json().error

async function connect(options: { refresh?: boolean; rotate?: boolean } = {}) {
  const client = await house.makeClient(options)
  const code = await house.makeCode(client)
  return { client, code, ...tokensOf(await house.exchange(client, code)) }
}

/** Whatever earlier tests left is over. */
async function begin(): Promise<void> {
  house.clock.advance(2 * day)
  await remove()
}

test('with nothing dead nothing is removed', async () => {
  await begin()
  const { access_token } = await connect()
  assert.deepEqual(await remove(), {
    accessTokens: 0,
    grants: 0,
    clientTokens: 0,
    usedProofs: 0,
    answers: 0,
    sessions: 0,
    loginBuckets: 0,
    activity: 0,
    challenges: 0,
    submissions: 0,
    keptForms: 0,
    formerEmails: 0,
    receipts: 0,
    invitations: 0,
    imports: 0,
    waitingHoldings: 0,
    images: 0,
    passwordResets: 0,
    providerSignIns: 0,
    logoutTokens: 0,
    adminAnswers: 0,
  })
  assert.equal((await house.profile(access_token)).status, 200)
})

test('an access token leaves when it has expired, and not a second earlier', async () => {
  await begin()
  const { access_token } = await connect({ refresh: false })
  house.clock.advance(day - second)
  assert.equal((await remove()).accessTokens, 0)
  assert.equal((await house.profile(access_token)).status, 200)
  house.clock.advance(second)
  assert.equal((await remove()).accessTokens, 1)
  assert.equal(await countRows('access_tokens'), 0)
  assert.equal((await house.profile(access_token)).status, 401)
})

test('a code that nobody traded leaves when it has expired; one that is still good stays', async () => {
  await begin()
  const client = await house.makeClient()
  await house.makeCode(client)
  house.clock.advance(5 * minute)
  const good = await house.makeCode(client)
  house.clock.advance(5 * minute)
  assert.equal((await remove()).grants, 1)
  assert.equal((await house.exchange(client, good)).status, 200)
})

test('a refresh token stays for years, and refreshes after the clean-up', async () => {
  await begin()
  const { client, access_token, refresh_token } = await connect()
  house.clock.advance(800 * day)
  const removed = await remove()
  assert.deepEqual([removed.accessTokens, removed.grants], [1, 0])
  assert.equal((await house.profile(access_token)).status, 401)
  const next = tokensOf(await house.refresh(client, refresh_token))
  assert.equal((await house.profile(next.access_token)).status, 200)
})

test('a code is known as a replay as long as anything it gave lives, also after the clean-up', async () => {
  await begin()
  const { client, code, refresh_token } = await connect()
  house.clock.advance(30 * day)
  await remove()
  const { access_token } = tokensOf(await house.refresh(client, refresh_token))
  const replay = await house.exchange(client, code)
  assert.equal(errorOf(replay), 'invalid_grant')
  assert.match(replay.text, /has been used before/)
  assert.equal((await house.profile(access_token)).status, 401, 'what it gave is dead')
  assert.equal(errorOf(await house.refresh(client, refresh_token)), 'invalid_grant')
})

test('a code is known as a replay while its access token lives, without any refresh token', async () => {
  await begin()
  const { client, code, access_token } = await connect({ refresh: false })
  house.clock.advance(day - minute)
  await remove()
  assert.match((await house.exchange(client, code)).text, /has been used before/)
  assert.equal((await house.profile(access_token)).status, 401)
})

test('when nothing it gave is left a code is only unknown', async () => {
  await begin()
  const { client, code } = await connect({ refresh: false })
  house.clock.advance(day)
  assert.equal((await remove()).grants, 1)
  const answer = await house.exchange(client, code)
  assert.equal(errorOf(answer), 'invalid_grant')
  assert.match(answer.text, /unknown, expired or already used/)
})

test('a replaced refresh token is known as one long after, also after the clean-up', async () => {
  await begin()
  const { client, refresh_token } = await connect({ rotate: true })
  const child = tokensOf(await house.refresh(client, refresh_token))
  house.clock.advance(90 * day)
  await remove()
  assert.match((await house.refresh(client, refresh_token)).text, /was replaced by a newer one/)
  assert.equal(
    errorOf(await house.refresh(client, child.refresh_token)),
    'invalid_grant',
    'the family is dead',
  )
})

test('a session leaves half an hour after it was last seen, or after twelve hours in any case', async () => {
  await begin()
  const idle = await house.signIn(await house.makeUser())
  const busy = await house.signIn(await house.makeUser())
  house.clock.advance(20 * minute)
  assert.equal((await busy.get('/account')).status, 200)
  house.clock.advance(10 * minute)
  assert.equal((await remove()).sessions, 1)
  assert.equal((await idle.get('/account')).status, 303)
  assert.equal((await busy.get('/account')).status, 200)
  for (let passed = 30 * minute; passed < 12 * hour; passed += 20 * minute) {
    house.clock.advance(20 * minute)
    await busy.get('/account')
  }
  assert.equal((await remove()).sessions, 1)
  assert.equal(await countRows('sessions'), 0)
})

test('an answered request is remembered for longer than it could be answered again', async () => {
  await begin()
  const client = await house.makeClient()
  const browser = await house.signIn(await house.makeUser())
  const page = await askForConsent(browser, client.id)
  const answer = () => browser.submit(page, '/consent', { decision: 'approve' })
  assert.equal((await answer()).status, 303)
  house.clock.advance(29 * minute)
  assert.equal((await remove()).answers, 0)
  assert.equal((await answer()).status, 409, 'answered before')
  house.clock.advance(2 * hour)
  assert.equal((await remove()).answers, 1)
  assert.equal(await countRows('answered_requests'), 0)
})

test('failed sign-ins are forgotten when their window is over', async () => {
  await begin()
  const browser = new Browser(house.baseUrl)
  await browser.submit(await browser.get('/login'), '/login', { username: 'nobody', password: 'wrong' })
  house.clock.advance(14 * minute)
  assert.equal((await remove()).loginBuckets, 0)
  house.clock.advance(minute)
  assert.equal((await remove()).loginBuckets, 2)
  assert.equal(await countRows('login_throttle'), 0)
})

/** Rows of a kind that is over, in the thousands. */
async function fill(client: TestClient): Promise<void> {
  const { access_token } = tokensOf(await house.exchange(client, await house.makeCode(client)))
  assert.ok(access_token)
  await db.script(`INSERT INTO access_tokens (hash, grant_id, scopes, issued_at, expires_at)
    SELECT sha256(n::text::bytea), (SELECT max(id) FROM grants), '{read}', '2020-01-01', '2020-01-02'
      FROM generate_series(1, 2500) AS n`)
  await db.script(
    `INSERT INTO answered_requests SELECT 'old-' || n, '2020-01-01' FROM generate_series(1, 2500) AS n`,
  )
}

test('thousands of dead rows leave in one run, with two nodes at it at the same time', async () => {
  await begin()
  await fill(await house.makeClient())
  const [left, right] = await Promise.all([remove(), remove()])
  assert.equal(left.accessTokens + right.accessTokens, 2500)
  assert.equal(await countRows('access_tokens'), 1, 'the living one stays')
  assert.equal(left.answers + right.answers, 2500)
})

test('a clock that steps backwards does not bring an expired code back', async () => {
  await begin()
  const client = await house.makeClient()
  const presented = await house.makeCode(client)
  const cleaned = await house.makeCode(client)
  house.clock.advance(10 * minute)
  assert.equal(errorOf(await house.exchange(client, presented)), 'invalid_grant')
  house.clock.advance(-5 * minute)
  assert.equal(errorOf(await house.exchange(client, presented)), 'invalid_grant', 'it was seen expired')
  house.clock.advance(5 * minute)
  await remove()
  house.clock.advance(-5 * minute)
  assert.equal(errorOf(await house.exchange(client, cleaned)), 'invalid_grant', 'it was cleaned away')
})

test('a used assertion and a used proof leave when they would be refused anyway, and not before', async () => {
  await begin()
  const by = await makeFapi2Client(house)
  const assertion = await signAssertion(by)
  const dpopKey = makeKey()
  const proof = await signProof(by, dpopKey, { url: `${house.baseUrl}/v1/oauth/par` })
  const again = async (what: { assertion: string } | { proof: string }) =>
    (await push(by, makePkce(), what)).json().error_description
  assert.equal((await push(by, makePkce(), { assertion, proof })).status, 201)
  house.clock.advance(59 * second)
  assert.equal((await remove()).usedProofs, 0)
  assert.match(String(await again({ assertion })), /used before/)
  assert.match(String(await again({ proof })), /used before/)
  house.clock.advance(2 * second)
  await remove()
  assert.match(String(await again({ assertion })), /does not say that it is this client/)
  assert.match(String(await again({ proof })), /iat was 61 seconds ago/)
  house.clock.advance(2 * minute)
  await remove()
  assert.equal(await countRows('used_proofs'), 0)
})

test('the audit log is never cleaned', async () => {
  const before = await countRows('audit_entries')
  house.clock.advance(4_000 * day)
  await remove()
  assert.equal(await countRows('audit_entries'), before)
})
