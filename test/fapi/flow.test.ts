/** FAPI 2.0 Security Profile: the whole way of a client without a secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../support/client-keys.ts'
import {
  answerRequest,
  callAs,
  exchange,
  getProfile,
  getTokens,
  makeCode,
  makeFapi2Client,
  makePkce,
  push,
  signAssertion,
  signProof,
} from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'
import { assertOAuthError } from '../support/oauth.ts'

const house = await openHouse()
const by = await makeFapi2Client(house)
const dpopKey = makeKey()

test('pushed, approved, exchanged with a proof, used with a proof, and refreshed with another key', async () => {
  const pkce = makePkce()
  const pushed = await push(by, pkce)
  assert.equal(pushed.status, 201, pushed.text)
  const { request_uri, expires_in } = pushed.json<{ request_uri: string; expires_in: number }>()
  assert.equal(expires_in, 90)
  assert.match(String(pushed.headers['cache-control']), /no-store/)
  const browser = await house.signIn(await house.makeUser())
  const answered = await answerRequest(by, browser, request_uri)
  assert.equal(answered.get('iss'), house.baseUrl)
  assert.equal(answered.has('state'), false)
  const answer = await exchange(by, dpopKey, answered.get('code')!, pkce)
  assert.equal(answer.status, 200, answer.text)
  const tokens = answer.json<{ access_token: string; refresh_token: string; token_type: string }>()
  assert.equal(tokens.token_type, 'DPoP')
  const profile = await getProfile(by, dpopKey, tokens.access_token)
  assert.equal(profile.status, 200, profile.text)
  assert.ok(profile.json<{ cnf: { jkt: string } }>().cnf.jkt)
  const otherKey = makeKey()
  const refreshed = await callAs(by, '/v1/oauth/refreshtoken', {
    dpopKey: otherKey,
    fields: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
  })
  assert.equal(refreshed.status, 200, refreshed.text)
  const renewed = refreshed.json<{ access_token: string; refresh_token: string }>()
  assert.equal(renewed.refresh_token, tokens.refresh_token)
  assert.equal((await getProfile(by, otherKey, renewed.access_token)).status, 200)
  assert.equal((await getProfile(by, dpopKey, renewed.access_token)).status, 401)
})

test('an assertion and a proof count once', async () => {
  const assertion = await signAssertion(by)
  assert.equal((await push(by, makePkce(), { assertion })).status, 201)
  assertOAuthError(await push(by, makePkce(), { assertion }), 'invalid_client', 401)
  const url = `${house.baseUrl}/v1/oauth/par`
  const proof = await signProof(by, dpopKey, { url })
  assert.equal((await push(by, makePkce(), { proof })).status, 201)
  assertOAuthError(await push(by, makePkce(), { proof }), 'invalid_dpop_proof', 400)
})

test('a code lives for sixty seconds, and a request until it is answered', async () => {
  const pkce = makePkce()
  const code = await makeCode(by, pkce)
  house.clock.advance(60_000)
  assertOAuthError(await exchange(by, dpopKey, code, pkce), 'invalid_grant', 400)

  const pushed = await push(by, makePkce(), { fields: { state: 'x' } })
  const { request_uri } = pushed.json<{ request_uri: string }>()
  const browser = await house.signIn(await house.makeUser())
  const query = new URLSearchParams({ client_id: by.client.id, request_uri, state: 'other' })
  assert.match((await browser.get(`/v1/oauth/authorize?${query}`)).location!, /\/login/)
  const denied = await answerRequest(by, browser, request_uri, 'deny')
  assert.deepEqual([denied.get('error'), denied.get('state')], ['access_denied', 'x'])
  const again = await answerRequest(by, browser, request_uri)
  assert.equal(again.get('error'), 'invalid_request_uri')
})

test('the token is nothing without its key, and its secret is none', async () => {
  const { access_token: token, refresh_token } = await getTokens(by, dpopKey)
  assert.equal((await house.profile(token)).status, 401)
  assert.equal((await getProfile(by, makeKey(), token)).status, 401)
  assert.equal((await getProfile(by, dpopKey, token, { scheme: 'dpop' })).status, 200)
  assertOAuthError(await house.refresh(by.client, refresh_token!), 'invalid_client', 401)
  const own = await callAs(by, '/v1/oauth/accesstoken', {
    dpopKey,
    fields: { grant_type: 'client_credentials' },
  })
  assert.equal(own.status, 200, own.text)
  assert.equal((await getProfile(by, dpopKey, own.json<{ access_token: string }>().access_token)).status, 401)
})
