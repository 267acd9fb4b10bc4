/** Spec 4.11: the assertion is for one service and one request, and ends after a minute. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { minute, second } from '../../src/clock.ts'
import { doorNames, identityIn, openProxy, type Passage } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'
import { openHolder } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)
const sees = ['username', 'client', 'partner', 'grant', 'accounts', 'customer', 'sign-in']
const proxy = await openProxy(house, { sees })
const needs = 'scope=read&assertion=1'
const keys = createRemoteJWKSet(new URL(`${house.baseUrl}/.well-known/jwks.json`))

interface Request {
  readonly method: string
  readonly host: string
  readonly target: string
}

/** As the system behind the proxy does it, for the request that it has. */
async function verify(assertion: string, request: Request, audience = proxy.id): Promise<JWTPayload> {
  const { payload } = await jwtVerify(assertion, keys, {
    ...{ audience, issuer: house.baseUrl, typ: 'request-assertion+jwt', algorithms: ['EdDSA'] },
    ...{ requiredClaims: ['exp', 'iat', 'jti', 'sub'], currentDate: house.clock.now() },
  })
  const text = [request.method, request.host.toLowerCase(), request.target].join('\n')
  const wanted = createHash('sha256').update(text).digest('base64url')
  assert.equal(payload.request_hash, wanted, 'it is for another request')
  return payload
}

async function tokens(scope = 'read trade'): Promise<string> {
  return (await holder.tokens(client, { scope })).access_token
}

const request = { method: 'POST', host: 'API.example.com:8443', target: '/orders/7%2F8?dry=1&b=%20' }

for (const door of doorNames)
  test(`${door}: the assertion says what the headers say, of this request`, async () => {
    const token = await tokens()
    const identity = identityIn(await proxy.ask(door, { ...request, token, needs }))
    const { iss, aud, jti, iat, exp, request_hash, ...claims } = await verify(identity.assertion!, request)
    const now = Math.floor(house.clock.now().getTime() / 1000)
    assert.deepEqual([iss, aud, iat, exp], [house.baseUrl, proxy.id, now, now + 60])
    assert.deepEqual(claims, {
      sub: identity.subject,
      username: identity.username,
      client_id: identity.client,
      branch_id: Number(identity.partner),
      scope: identity.scope,
      account_numbers: identity.accounts!.split(' '),
      grant_id: Number(identity.grant),
      auth_time: Number(identity['auth-time']),
      acr: identity.acr,
    })
    const again = identityIn(await proxy.ask(door, { ...request, token, needs })).assertion!
    assert.notEqual((await verify(again, request)).jti, jti)
    assert.equal(request_hash, (await verify(again, request)).request_hash)
  })

test('the assertion of one request is refused on another, at another service and on the other site', async () => {
  const token = await tokens()
  const { assertion } = identityIn(await proxy.ask('forwarded', { ...request, token, needs }))
  const others: Partial<Request>[] = [
    { method: 'GET' },
    { method: 'post' },
    { host: 'api.example.com' },
    { host: 'other.example.com:8443' },
    { target: '/orders/7/8?dry=1&b=%20' },
    { target: '/orders/7%2F8?dry=1&b=+' },
    { target: '/orders/7%2F8?dry=1' },
    { target: '/orders/7%2F8' },
    { target: '/orders/7%2f8?dry=1&b=%20' },
  ]
  for (const other of others)
    await assert.rejects(verify(assertion!, { ...request, ...other }), /another request/)
  const another = await openProxy(house, { sees })
  await assert.rejects(verify(assertion!, request, another.id), { claim: 'aud' })
  const sandboxed = await openProxy(house, { environment: 'sandbox', sees })
  const foreign = await house.makeToken(holder.user, 'sandbox')
  const sandbox = identityIn(await sandboxed.ask('forwarded', { ...request, token: foreign, needs }))
  await assert.rejects(verify(sandbox.assertion!, request, sandboxed.id), {
    code: 'ERR_JWKS_NO_MATCHING_KEY',
  })
})

test('parts of a request cannot be moved into one another', async () => {
  const token = await tokens()
  const hashes = new Set<unknown>()
  for (const passage of [
    { method: 'GET', host: 'a.example', target: '/b' },
    { method: 'GET', host: 'a.example:80', target: '/b' },
    { method: 'GET', host: 'a.example', target: '/80/b' },
    { method: 'GET', host: 'a.example', target: '/b?' },
  ]) {
    const { assertion } = identityIn(await proxy.ask('original', { ...passage, token, needs }))
    hashes.add((await verify(assertion!, passage)).request_hash)
  }
  assert.equal(hashes.size, 4)
})

test('it ends after a minute, or with its token', async () => {
  const token = await tokens()
  const passage: Passage = { ...request, token, needs }
  const ofNow = identityIn(await proxy.ask('envoy', passage)).assertion!
  house.clock.advance(59 * second)
  await verify(ofNow, request)
  house.clock.advance(2 * second)
  await assert.rejects(verify(ofNow, request), { claim: 'exp' })
  const { 'x-countersign-expires': ends } = Object.fromEntries((await proxy.ask('envoy', passage)).headers)
  house.clock.advance(Number(ends) * 1000 - house.clock.now().getTime() - minute / 2)
  const late = await verify(identityIn(await proxy.ask('envoy', passage)).assertion!, request)
  assert.equal(late.exp, Number(ends))
})

test('it tells no more than the service may know', async () => {
  const blind = await openProxy(house, { sees: [] })
  const { assertion } = identityIn(await blind.ask('original', { ...request, token: await tokens(), needs }))
  const payload = await verify(assertion!, request, blind.id)
  const said = ['aud', 'exp', 'iat', 'iss', 'jti', 'request_hash', 'scope', 'sub']
  assert.deepEqual(Object.keys(payload).sort(), said)
})
