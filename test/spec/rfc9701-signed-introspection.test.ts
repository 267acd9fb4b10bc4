/** RFC 9701: what introspection says, signed for whoever asks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { createService, revokeService } from '../../src/services/service.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { type Answer, postForm } from '../support/browser.ts'
import { basic, openHouse, type TestClient } from '../support/gateway.ts'
import { assertOAuthError, hears, openHolder } from '../support/oauth.ts'

type Credentials = Pick<TestClient, 'id' | 'secret'>

const mediaType = 'application/token-introspection+jwt'
const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)
const orders = await makeService('live')
const { access_token: token, refresh_token: refreshToken } = await holder.tokens(client, { scope: 'trade' })

async function makeService(environment: Environment, sees?: readonly string[]): Promise<Credentials> {
  const { db } = house.gateway.context
  const draft = sees ? { sees } : {}
  const { service, secret } = await createService(db, 'Orders', environment, house.act(), draft)
  return { id: service.id, secret: secret.text }
}

function introspect(presented: string, by: Credentials, accept = mediaType): Promise<Answer> {
  const url = `${house.baseUrl}/v1/oauth/introspect`
  return postForm(url, { token: presented }, { ...basic(by), accept })
}

const keys = createRemoteJWKSet(new URL(`${house.baseUrl}/.well-known/jwks.json`))

/** As a resource server does it, for itself as the audience. */
async function verify(answer: Answer, audience: string): Promise<Record<string, unknown>> {
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['content-type'], mediaType)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const { payload } = await jwtVerify(answer.text, keys, {
    ...{ audience, issuer: house.baseUrl, typ: 'token-introspection+jwt', algorithms: ['EdDSA'] },
    currentDate: house.clock.now(),
  })
  return payload
}

test('the signed answer says the same as the plain one, to the service that asked', async () => {
  const plain = (await introspect(token, orders, 'application/json')).json()
  const { token_introspection, ...about } = await verify(await introspect(token, orders), orders.id)
  assert.deepEqual(token_introspection, plain)
  const iat = Math.floor(house.clock.now().getTime() / 1000)
  assert.deepEqual(about, { iss: house.baseUrl, aud: orders.id, iat })
})

test('a client gets it for its own tokens, also for a refresh token', async () => {
  for (const presented of [token, refreshToken!]) {
    const plain = (await introspect(presented, client, '*/*')).json()
    const { token_introspection } = await verify(await introspect(presented, client), client.id)
    assert.deepEqual(token_introspection, plain)
  }
})

test('an answer for one service is none for another, and each says no more than its row lets it', async () => {
  const quotes = await makeService('live', [])
  const answer = await introspect(token, quotes)
  await assert.rejects(verify(answer, orders.id), { claim: 'aud' })
  const { token_introspection } = await verify(answer, quotes.id)
  for (const name of ['account_numbers', 'username', 'client_id'])
    assert.equal(name in (token_introspection as object), false, name)
})

test('an answer that was changed, or that the other site signed, does not verify', async () => {
  const [head, payload, signature] = (await introspect(token, orders)).text.split('.') as [
    string,
    string,
    string,
  ]
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  claims.token_introspection.scope = 'read write trade'
  const changed = Buffer.from(JSON.stringify(claims)).toString('base64url')
  await assert.rejects(jwtVerify(`${head}.${changed}.${signature}`, keys), {
    code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  })
  const sandboxed = await makeService('sandbox')
  const url = `${house.sandboxUrl}/v1/oauth/introspect`
  const foreign = await postForm(url, { token }, { ...basic(sandboxed), accept: mediaType })
  await assert.rejects(jwtVerify(foreign.text, keys), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('what is unknown or revoked, and a token of the other site, is signed as inactive and nothing more', async () => {
  const other = await holder.tokens(await house.makeClient({ environment: 'sandbox' }))
  for (const presented of ['x', orders.secret, other.access_token]) {
    const { token_introspection } = await verify(await introspect(presented, orders), orders.id)
    assert.deepEqual(token_introspection, { active: false })
  }
})

test('who takes JSON as well, or asks for nothing, gets JSON', async () => {
  for (const accept of [`${mediaType}, application/json`, '*/*', 'application/jwt', '']) {
    const answer = await introspect(token, orders, accept)
    assert.match(String(answer.headers['content-type']), /^application\/json/, accept)
    assert.equal(answer.json().active, true)
  }
})

test('nothing is signed for those who may not ask: wrong credentials, a revoked service, a bad request', async () => {
  const retired = await makeService('live')
  const heard = hears(house.gateway, `service:${retired.id}`)
  await revokeService(house.gateway.context.db, retired.id, house.act())
  await heard
  for (const asker of [retired, { ...orders, secret: 'x' }, await makeService('sandbox')])
    assertOAuthError(await introspect(token, asker), 'invalid_client')
  assertOAuthError(await introspect('', orders), 'invalid_request')
})
