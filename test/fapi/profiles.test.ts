/**
 * Standard, moving and fapi2 beside each other: nothing of one profile opens what is of another, and a switch
 * changes what is taken by the clock alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { after, day, hour, minute } from '../../src/clock.ts'
import { addKeys } from '../../src/partners/client-keys.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { listSecrets, rotateSecret } from '../../src/partners/client-secret.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { type Fields, postForm, send } from '../support/browser.ts'
import { makeKey, printJwks } from '../support/client-keys.ts'
import { eventually } from '../support/eventually.ts'
import {
  answerRequest,
  callAs,
  exchange,
  type Fapi2Client,
  getProfile,
  getTokens,
  makeFapi2Client,
  makePkce,
  push,
  signProof,
} from '../support/fapi.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError } from '../support/oauth.ts'

const house = await openHouse()
const { db, vault } = house.gateway.context
const dpopKey = makeKey()
const tokenPath = '/v1/oauth/accesstoken'

/** A client of the contract that has a key already, too. */
async function makeReady(): Promise<Fapi2Client> {
  const client = await house.makeClient()
  const key = makeKey('ES256', { kid: 'one' })
  await addKeys(db, client, readJwksText(printJwks(key)), house.act())
  return { client, key, house }
}

async function moveIn(ms: number, endsBearers = true): Promise<Fapi2Client> {
  const made = await makeReady()
  await setProfile(db, made.client, { from: after(house.clock.now(), ms), endsBearers }, house.act())
  return made
}

async function bearersOf(client: TestClient, scope = 'read'): Promise<TokenBody> {
  const answer = await house.exchange(client, await house.makeCode(client, { scope }))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json().token_type, 'Bearer')
  return answer.json<TokenBody>()
}

const ask = (by: Fapi2Client, fields: Fields, withProof = true) =>
  callAs(by, tokenPath, { fields, dpopKey: withProof ? dpopKey : undefined })
const introspect = async ({ client }: Fapi2Client, token: string) =>
  (await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token }, basic(client))).json()

test('of what a fapi2 client holds nothing is opened by the ways of the contract', async () => {
  const by = await makeFapi2Client(house)
  const standard = await makeReady()
  const { access_token, refresh_token } = await getTokens(by, dpopKey)
  const own = (await ask(by, { grant_type: 'client_credentials' })).json<{ access_token: string }>()
  for (const token of [access_token, own.access_token, refresh_token!]) {
    assert.equal((await house.profile(token)).status, 401)
    assert.deepEqual(await introspect(standard, token), { active: false })
    const revoked = await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(standard.client))
    assert.equal(revoked.status, 200)
  }
  for (const token of [access_token, own.access_token])
    for (const authorization of [
      `Bearer ${token}`,
      `bearer ${token}`,
      `Basic ${Buffer.from(`${token}:`).toString('base64')}`,
    ])
      for (const path of ['/v1/user/profile', '/v2/webhooks']) {
        const { status } = await send(house.baseUrl + path, { headers: { authorization } })
        assert.equal(status, 401, `${path} ${authorization}`)
      }
  assertOAuthError(await house.refresh(standard.client, refresh_token!), 'invalid_grant')
  assertOAuthError(await house.refresh(by.client, refresh_token!), 'invalid_client')
  const pkce = makePkce()
  const pushed = (await push(by, pkce)).json<{ request_uri: string }>()
  const browser = await house.signIn(await house.makeUser())
  const code = (await answerRequest(by, browser, pushed.request_uri)).get('code')!
  assertOAuthError(
    await house.exchange(standard.client, code, { code_verifier: pkce.verifier }),
    'invalid_grant',
  )
  assertOAuthError(await house.exchange(by.client, code, { code_verifier: pkce.verifier }), 'invalid_client')
  assert.equal((await exchange(by, dpopKey, code, pkce)).status, 200)
  assert.equal((await getProfile(by, dpopKey, access_token)).status, 200)
  assert.equal((await ask(by, { grant_type: 'refresh_token', refresh_token: refresh_token! })).status, 200)
})

test('of what a client of the contract holds nothing is opened by another client, with whatever key', async () => {
  const by = await makeFapi2Client(house)
  const standard = await makeReady()
  const { access_token, refresh_token } = await bearersOf(standard.client)
  const code = await house.makeCode(standard.client)
  assertOAuthError(await exchange(by, dpopKey, code, makePkce()), 'invalid_grant')
  assertOAuthError(
    await ask(by, { grant_type: 'refresh_token', refresh_token: refresh_token! }),
    'invalid_grant',
  )
  assert.equal((await getProfile(by, dpopKey, access_token)).status, 401, 'after the word DPoP')
  assert.equal((await callAs(by, '/v1/oauth/revoke', { fields: { token: access_token } })).status, 200)
  assert.equal((await house.profile(access_token)).status, 200)
  const own = await postForm(
    house.baseUrl + tokenPath,
    { grant_type: 'client_credentials' },
    basic(standard.client),
  )
  assertOAuthError(own, 'unsupported_grant_type')
  assertOAuthError(await ask(standard, { grant_type: 'client_credentials' }), 'unsupported_grant_type')
})

for (const [name, make] of [
  ['standard', makeReady],
  ['moving', () => moveIn(hour)],
] as const)
  test(`a ${name} client has all that it had, and more where it sends more`, async () => {
    const by = await make()
    const bearer = await bearersOf(by.client)
    assert.equal((await house.profile(bearer.access_token)).status, 200)
    const proof = await signProof(by, dpopKey, { url: house.baseUrl + tokenPath })
    const bound = await postForm(
      house.baseUrl + tokenPath,
      { grant_type: 'authorization_code', code: await house.makeCode(by.client) },
      { ...basic(by.client), dpop: proof },
    )
    assert.equal(bound.json().token_type, 'DPoP', bound.text)
    const { access_token, refresh_token } = bound.json<TokenBody>()
    assert.equal((await house.profile(access_token)).status, 401)
    assert.equal((await getProfile(by, dpopKey, access_token)).status, 200)
    const refreshed = await house.refresh(by.client, refresh_token!)
    assert.equal(refreshed.json().token_type, 'Bearer', 'the contract binds no refresh token to a key')
    const byKey = await ask(by, { grant_type: 'refresh_token', refresh_token: refresh_token! }, false)
    assert.equal(byKey.json().token_type, 'Bearer', byKey.text)
    assert.equal((await introspect(by, access_token)).token_type, 'DPoP')
    const pushed = await postForm(
      `${house.baseUrl}/v1/oauth/par`,
      { scope: 'read', state: 'of the push' },
      basic(by.client),
    )
    assert.equal(pushed.status, 201, pushed.text)
    const browser = await house.signIn(await house.makeUser())
    const { request_uri } = pushed.json<{ request_uri: string }>()
    const answered = await answerRequest(by, browser, request_uri)
    assert.equal(answered.get('state'), 'of the push')
    assert.equal((await house.exchange(by.client, answered.get('code')!)).status, 200)
  })

/** Every place where a client says who it is, by its secret. */
const bySecret = (client: TestClient) => [
  ...['par', 'accesstoken', 'refreshtoken', 'revoke', 'introspect'].map((name) =>
    postForm(`${house.baseUrl}/v1/oauth/${name}`, { token: 'x', scope: 'read', state: 's' }, basic(client)),
  ),
  send(`${house.baseUrl}/v2/webhooks`, { headers: basic(client) }),
]
const statuses = async (client: TestClient) =>
  (await Promise.all(bySecret(client))).map(({ status }) => status)

for (const endsBearers of [true, false])
  test(`at the moment its secret is nothing more, and its bearer tokens ${endsBearers ? 'end' : 'live on'}`, async () => {
    const by = await moveIn(minute, endsBearers)
    const bearer = await bearersOf(by.client)
    const proof = await signProof(by, dpopKey, { url: house.baseUrl + tokenPath })
    const fields = { grant_type: 'authorization_code', code: await house.makeCode(by.client) }
    const bound = await postForm(house.baseUrl + tokenPath, fields, { ...basic(by.client), dpop: proof })
    const { access_token } = bound.json<TokenBody>()
    assert.deepEqual(await statuses(by.client), [201, 400, 400, 200, 200, 200])
    assert.equal((await house.profile(bearer.access_token)).status, 200)
    house.clock.advance(minute - 1)
    assert.equal((await house.profile(bearer.access_token)).status, 200)
    assert.equal((await statuses(by.client))[0], 201)
    house.clock.advance(1)
    assert.deepEqual(await statuses(by.client), [401, 401, 401, 401, 401, 401])
    assert.equal((await house.profile(bearer.access_token)).status, endsBearers ? 401 : 200)
    const told = (await callAs(by, '/v1/oauth/introspect', { fields: { token: bearer.access_token } })).json()
    assert.equal(told.active, !endsBearers)
    assert.equal((await getProfile(by, dpopKey, access_token)).status, 200, 'what was bound stays')
    const grant = { grant_type: 'refresh_token', refresh_token: bearer.refresh_token! }
    assertOAuthError(await ask(by, grant, false), 'invalid_request')
    const renewed = await ask(by, grant)
    assert.equal(renewed.json().token_type, 'DPoP', renewed.text)
    assert.equal((await house.profile(String(renewed.json().access_token))).status, 401)
    if (endsBearers) return
    house.clock.advance(24 * hour)
    assert.equal((await house.profile(bearer.access_token)).status, 401, 'it has its 24 hours and no more')
  })

test('a code of before the moment takes a key and a proof after it, and is nothing without PKCE', async () => {
  const by = await moveIn(minute)
  const pkce = makePkce()
  const extra = { code_challenge: pkce.challenge, code_challenge_method: 'S256' }
  const [code, bare] = [await house.makeCode(by.client, { extra }), await house.makeCode(by.client)]
  house.clock.advance(minute)
  const redirect_uri = by.client.callbackUrl
  assertOAuthError(await house.exchange(by.client, code, { code_verifier: pkce.verifier }), 'invalid_client')
  assertOAuthError(await exchange(by, undefined, code, pkce), 'invalid_request')
  assertOAuthError(await exchange(by, dpopKey, bare, pkce), 'invalid_grant')
  const bareFields = { code_verifier: [], redirect_uri }
  assertOAuthError(await exchange(by, dpopKey, bare, pkce, { fields: bareFields }), 'invalid_grant')
  const answer = await exchange(by, dpopKey, code, pkce)
  assert.equal(answer.json().token_type, 'DPoP', answer.text)
})

test('a request that was not pushed is answered by nobody after the moment, and no push of before it lacks PKCE then', async () => {
  const by = await moveIn(minute)
  const browser = await house.signIn(await house.makeUser())
  const query = new URLSearchParams({ client_id: by.client.id, scope: 'read', state: 's' })
  const start = await browser.get(`/v1/oauth/authorize?${query}`)
  const page = await browser.get((await browser.get(start.location!)).location!)
  const unproven = { scope: 'read', state: 's' }
  const pushed = await postForm(`${house.baseUrl}/v1/oauth/par`, unproven, basic(by.client))
  house.clock.advance(minute)
  const answer = await browser.submit(page, '/consent', { decision: 'approve', scope: 'read' })
  assert.equal(answer.status, 400, answer.text)
  const { request_uri } = pushed.json<{ request_uri: string }>()
  const answered = await answerRequest(by, await house.signIn(await house.makeUser()), request_uri)
  const code = answered.get('code')
  if (code !== null) assertOAuthError(await exchange(by, dpopKey, code, makePkce()), 'invalid_grant')
})

test('a stream that was opened with the secret ends when the secret does', async () => {
  const by = await moveIn(minute)
  const response = await fetch(`${house.baseUrl}/v2/events?after=0`, {
    headers: { ...basic(by.client), accept: 'text/event-stream' },
  })
  assert.equal(response.status, 200)
  const reader = response.body!.getReader()
  let isOver = false
  const over = (async () => {
    while (!(await reader.read()).done);
    isOver = true
  })().catch(() => {
    isOver = true
  })
  house.clock.advance(minute)
  await eventually('the stream has ended', () => isOver)
  await over
})

test('a day after the moment its secrets have ended for good, whatever comes after; a new one is made', async () => {
  const [by, other] = [await moveIn(minute), await moveIn(minute, false)]
  house.clock.advance(minute + day - 1)
  await setProfile(db, by.client, { from: null }, house.act())
  assert.deepEqual((await statuses(by.client))[0], 201, 'within the day the move is undone')
  await setProfile(db, by.client, { from: house.clock.now() }, house.act())
  house.clock.advance(1)
  const later = { from: after(house.clock.now(), hour) }
  await setProfile(db, other.client, later, house.act())
  house.clock.advance(day)
  await setProfile(db, by.client, { from: null }, house.act())
  for (const { client } of [by, other]) {
    await setProfile(db, client, { from: null }, house.act())
    assert.deepEqual(await statuses(client), [401, 401, 401, 401, 401, 401])
    assert.deepEqual(await listSecrets(db, client.id, house.clock.now()), [])
    const [revoked] = await findEntries(db, {
      action: 'client.secret_revoked',
      subject: `client:${client.id}`,
    })
    assert.ok(revoked)
    const { secret } = await rotateSecret(db, vault, client, { overlapMs: 0 }, house.act())
    assert.deepEqual((await statuses({ ...client, secret: secret.text }))[0], 201)
  }
  const pushed = await push(by, makePkce(), { fields: { state: 'x' } })
  assert.equal(pushed.status, 201, 'its key counts all the time')
})

test('taken back to the standard, its secret counts again and it gets no tokens of its own', async () => {
  const by = await makeReady()
  await setProfile(db, by.client, { from: house.clock.now() }, house.act())
  const own = await ask(by, { grant_type: 'client_credentials' })
  assert.equal(own.status, 200, own.text)
  await setProfile(db, by.client, { from: null }, house.act())
  assert.deepEqual(await statuses(by.client), [201, 400, 400, 200, 200, 200])
  assertOAuthError(await ask(by, { grant_type: 'client_credentials' }), 'unsupported_grant_type')
})
