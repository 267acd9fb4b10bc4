/** What the profile lets pass although it looks odd, and what a client is told so that it can go on. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { readPublicJwk } from '../../src/crypto/jwk.ts'
import { addKeys } from '../../src/partners/client-keys.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { type Answer, postForm, send } from '../support/browser.ts'
import { makeKey, printJwks, type TestKey } from '../support/client-keys.ts'
import {
  answerRequest,
  callAs,
  exchange,
  type Fapi2Client,
  getProfile,
  getTokens,
  makeCode,
  makeFapi2Client,
  makePkce,
  push,
  signAssertion,
  signProof,
} from '../support/fapi.ts'
import { doorNames, openProxy } from '../support/forward-auth.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { assertOAuthError } from '../support/oauth.ts'
import { makeService } from '../support/resource.ts'

const house = await openHouse()
const { db } = house.gateway.context
const by = await makeFapi2Client(house)
const dpopKey = makeKey()
const rsaKey = makeKey('PS256', { kid: randomUUID() })
const edKey = makeKey('EdDSA', { kid: randomUUID() })
await addKeys(db, by.client, readJwksText(printJwks(rsaKey, edKey)), house.act())

const thumbprintOf = (key: TestKey) => readPublicJwk(key.publicJwk).thumbprint
const at = (seconds: number) => Math.floor(house.clock.now().getTime() / 1000) + seconds
const tokenPath = '/v1/oauth/accesstoken'
type Call = Partial<Parameters<typeof callAs>[2]>
const ask = (more: Call = {}, of: Fapi2Client = by) =>
  callAs(of, tokenPath, { dpopKey, fields: { grant_type: 'client_credentials' }, ...more })

test('clocks may be some seconds apart, in assertions and in proofs (FAPI 2.0 SP 5.3.2.1)', async () => {
  for (const claims of [
    { iat: at(8), exp: at(68) },
    { nbf: at(8), exp: at(68) },
    { iat: at(10), exp: at(70) },
    { iat: undefined },
    { iat: at(-3600) },
    { exp: at(300) },
  ])
    assert.equal((await ask({ assertion: { claims } })).status, 200, JSON.stringify(claims))
  for (const claims of [{ iat: at(10) }, { iat: at(-10) }, { iat: at(-59) }, { nbf: at(-5), exp: at(60) }])
    assert.equal((await ask({ proof: { claims } })).status, 200, JSON.stringify(claims))
})

test('an assertion may be of the new type, without kid, of any of three algorithms, and say more (RFC 7523 3)', async () => {
  const thumbprint = thumbprintOf(by.key)
  for (const twist of [
    { header: { typ: 'JWT' } },
    { header: { typ: 'client-authentication+jwt' } },
    { header: { kid: undefined } },
    { header: { kid: thumbprint } },
    { header: { cty: 'x' }, claims: { more: { and: 'more' } } },
    { claims: { jti: 'x'.repeat(255) } },
    { key: rsaKey, alg: 'PS256' },
    { key: edKey, alg: 'EdDSA' },
    { key: edKey, alg: 'Ed25519' },
  ]) {
    const answer = await ask({ assertion: twist })
    assert.equal(answer.status, 200, `${JSON.stringify(twist)} ${answer.text}`)
  }
  const fields = { grant_type: 'client_credentials', client_id: by.client.id, scope: 'webhooks' }
  const answer = await ask({ fields })
  const { access_token: _, issued_at: __, ...told } = answer.json()
  assert.deepEqual(told, { token_type: 'DPoP', expires_in: 3600, scope: 'webhooks', status: 'approved' })
})

test('htu counts without query and fragment, however its host, port and escapes are spelled (RFC 9449 4.3)', async () => {
  const { access_token: token } = await getTokens(by, dpopKey)
  const url = `${house.baseUrl}/v1/user/profile`
  for (const htu of [
    `${url}?a=b`,
    `${url}#part`,
    url.replace('http', 'HTTP'),
    url.replace('/v1/user', '/v1/%75ser'),
    `${url}?`,
  ])
    assert.equal((await getProfile(by, dpopKey, token, { claims: { htu } })).status, 200, htu)
  for (const scheme of ['dpop', 'DPOP', 'dPoP'])
    assert.equal((await getProfile(by, dpopKey, token, { scheme })).status, 200, scheme)
  const more = { claims: { more: true, nbf: at(0), exp: at(9) }, header: { more: 1 } }
  assert.equal((await getProfile(by, dpopKey, token, more)).status, 200)
  const dpop = await signProof(by, dpopKey, { method: 'GET', url, token })
  const query = await send(`${url}?a=b`, { headers: { authorization: `DPoP ${token}`, dpop } })
  assert.equal(query.status, 200, query.text)
})

for (const [name, alg] of [
  ['PS256', 'PS256'],
  ['EdDSA', 'EdDSA'],
  ['Ed25519', 'EdDSA'],
] as const)
  test(`a token is bound to a key of ${name}, and proved with it (FAPI 2.0 SP 5.4)`, async () => {
    const key = makeKey(alg)
    const pkce = makePkce()
    const answer = await exchange(by, key, await makeCode(by, pkce), pkce, { proof: { alg: name } })
    assert.equal(answer.status, 200, answer.text)
    const { access_token } = answer.json<{ access_token: string }>()
    assert.equal((await getProfile(by, key, access_token, { alg: name })).status, 200)
    assert.equal((await getProfile(by, dpopKey, access_token)).status, 401)
  })

const approvePushed = async (pushed: Answer) => {
  assert.equal(pushed.status, 201, pushed.text)
  const browser = await house.signIn(await house.makeUser())
  return answerRequest(by, browser, pushed.json<{ request_uri: string }>().request_uri)
}

test('state comes back as it was pushed, however long, and is absent where it was (FAPI 2.0 SP 5.3.2.2)', async () => {
  for (const state of ['x'.repeat(1000), 'Grüße, 世界 🙂', 'a b&c=d%20']) {
    const answered = await approvePushed(await push(by, makePkce(), { fields: { state } }))
    assert.equal(answered.get('state'), state)
  }
  const { request_uri } = (await push(by, makePkce())).json<{ request_uri: string }>()
  const browser = await house.signIn(await house.makeUser())
  const query = new URLSearchParams({
    ...{ client_id: by.client.id, request_uri, state: 'of the address', scope: 'trade' },
    redirect_uri: 'https://evil.example/',
  })
  const start = await browser.get(`/v1/oauth/authorize?${query}`)
  const page = await browser.get((await browser.get(start.location!)).location!)
  assert.doesNotMatch(page.text, /value="trade"/)
  const denied = await browser.submit(page, '/consent', { decision: 'deny' })
  assert.equal(denied.location!.split('?')[0], by.client.callbackUrl)
  const answered = new URL(denied.location!).searchParams
  assert.deepEqual([...answered.keys()].sort(), ['error', 'error_description', 'iss'])
})

test('a code is bound by dpop_jkt, by a proof at PAR, or by both (RFC 9449 10)', async () => {
  const thumbprint = thumbprintOf(dpopKey)
  for (const how of [
    { fields: { dpop_jkt: thumbprint } },
    { dpopKey },
    { dpopKey, fields: { dpop_jkt: thumbprint } },
  ]) {
    const pkce = makePkce()
    const code = (await approvePushed(await push(by, pkce, how))).get('code')!
    assertOAuthError(await exchange(by, makeKey(), code, pkce), 'invalid_grant', 400)
    assert.equal((await exchange(by, dpopKey, code, pkce)).status, 200)
  }
})

test('a refused proof or assertion uses up neither the code nor each other (RFC 9449 5)', async () => {
  const pkce = makePkce()
  const code = await makeCode(by, pkce)
  const assertion = await signAssertion(by)
  const wrong = await exchange(by, dpopKey, code, pkce, { assertion, proof: { claims: { htm: 'GET' } } })
  assertOAuthError(wrong, 'invalid_dpop_proof', 400)
  const proof = await signProof(by, dpopKey, { url: house.baseUrl + tokenPath })
  const stranger = { key: makeKey(), header: { kid: by.key.publicJwk.kid } }
  assertOAuthError(
    await exchange(by, dpopKey, code, pkce, { assertion: stranger, proof }),
    'invalid_client',
    401,
  )
  assert.equal((await exchange(by, dpopKey, code, pkce, { assertion, proof })).status, 200)
})

test('a code that is used twice ends the tokens that it gave (FAPI 2.0 SP 5.3.2.2)', async () => {
  const pkce = makePkce()
  const code = await makeCode(by, pkce)
  const first = await exchange(by, dpopKey, code, pkce)
  const { access_token, refresh_token } = first.json<{ access_token: string; refresh_token: string }>()
  assert.equal((await getProfile(by, dpopKey, access_token)).status, 200)
  assertOAuthError(await exchange(by, dpopKey, code, pkce), 'invalid_grant', 400)
  assert.equal((await getProfile(by, dpopKey, access_token)).status, 401)
  const fields = { grant_type: 'refresh_token', refresh_token }
  assertOAuthError(await ask({ fields }), 'invalid_grant', 400)
})

test('a code is good until a second before a minute has passed', async () => {
  const pkce = makePkce()
  const code = await makeCode(by, pkce)
  house.clock.advance(59_000)
  assert.equal((await exchange(by, dpopKey, code, pkce)).status, 200)
})

const nonceOf = (answer: Answer) => String(answer.headers['dpop-nonce'])

test('where nonces are demanded the answer brings one, with which the same assertion is taken (RFC 9449 8)', async () => {
  const strict = await makeFapi2Client(house)
  await setProfile(db, strict.client, { demandsDpopNonces: true }, house.act())
  const pkce = makePkce()
  const assertion = await signAssertion(strict)
  const asked = await push(strict, pkce, { dpopKey, assertion })
  assertOAuthError(asked, 'use_dpop_nonce', 400)
  assert.equal((await push(strict, pkce, { dpopKey, assertion, nonce: nonceOf(asked) })).status, 201)

  const code = await makeCode(strict, pkce)
  assertOAuthError(await exchange(strict, dpopKey, code, pkce), 'use_dpop_nonce', 400)
  const tokens = await exchange(strict, dpopKey, code, pkce, { nonce: nonceOf(asked) })
  assert.equal(tokens.status, 200, tokens.text)
  const { access_token: token } = tokens.json<{ access_token: string }>()
  const demanded = await getProfile(strict, dpopKey, token)
  assert.equal(demanded.status, 401)
  assert.match(String(demanded.headers['www-authenticate']), /^DPoP .*error="use_dpop_nonce"/)
  const read = await getProfile(strict, dpopKey, token, { nonce: nonceOf(demanded) })
  assert.equal(read.status, 200)
  assert.ok(nonceOf(read))

  house.clock.advance(90_000)
  const stale = await getProfile(strict, dpopKey, token, { nonce: nonceOf(demanded) })
  assert.match(String(stale.headers['www-authenticate']), /error="use_dpop_nonce"/)
  assert.notEqual(nonceOf(stale), nonceOf(demanded))
  const own = { fields: { grant_type: 'client_credentials' }, dpopKey }
  const staleToo = await callAs(strict, tokenPath, { ...own, nonce: nonceOf(demanded) })
  assertOAuthError(staleToo, 'use_dpop_nonce', 400)
  assert.equal((await callAs(strict, tokenPath, { ...own, nonce: nonceOf(staleToo) })).status, 200)
})

test('DPOP_NONCE_FOR_TRADE demands nonces of tokens that may trade, and of no others (RFC 9449 9)', async () => {
  const trading = await openHouse({ DPOP_NONCE_FOR_TRADE: 'true' })
  const client = await makeFapi2Client(trading)
  const reads = await getTokens(client, dpopKey, { scope: 'read' })
  assert.equal((await getProfile(client, dpopKey, reads.access_token)).status, 200)
  const trades = await getTokens(client, dpopKey, { scope: 'read trade' })
  const demanded = await getProfile(client, dpopKey, trades.access_token)
  assert.match(String(demanded.headers['www-authenticate']), /error="use_dpop_nonce"/)
  const nonce = nonceOf(demanded)
  assert.equal((await getProfile(client, dpopKey, trades.access_token, { nonce })).status, 200)
})

const webhooks = async (of: Fapi2Client, token: string, url = `${house.baseUrl}/v2/webhooks`) =>
  send(url, {
    headers: {
      authorization: `DPoP ${token}`,
      dpop: await signProof(of, dpopKey, { method: 'GET', url, token }),
    },
  })

test('a client’s own token reaches the webhooks of its branch and site, and nothing else (RFC 6749 4.4)', async () => {
  const issued = await ask()
  assert.equal('refresh_token' in issued.json(), false)
  const token = String(issued.json().access_token)
  const own = await webhooks(by, token)
  assert.deepEqual([own.status, own.json()], [200, { webhooks: [], next: null }])
  assert.equal((await webhooks(by, token, `${house.sandboxUrl}/v2/webhooks`)).status, 401)
  const service = await makeService(house)
  const asked = await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token }, basic(service))
  assert.deepEqual(asked.json(), { active: false })
  const proxy = await openProxy(house)
  for (const door of doorNames) assert.equal((await proxy.ask(door, { token })).status, 401, door)
})

test('without credentials both ways are named; with a failed proof that of DPoP (RFC 9449 7.1)', async () => {
  const none = await send(`${house.baseUrl}/v1/user/profile`)
  const challenge = String(none.headers['www-authenticate'])
  assert.match(challenge, /Bearer /)
  assert.match(challenge, /DPoP .*algs="ES256 PS256 EdDSA/)
  const { access_token } = await getTokens(by, dpopKey)
  const failed = await getProfile(by, dpopKey, access_token, { claims: { htm: 'PUT' } })
  assert.match(String(failed.headers['www-authenticate']), /^DPoP .*error="invalid_dpop_proof".*algs="ES256/)
})
