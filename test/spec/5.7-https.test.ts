/**
 * Spec 5.7: OAuth exchanges use HTTPS; only a named proxy can say how a request came.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { readConfig } from '../../src/settings/config.ts'
import { type Answer, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TestClient } from '../support/gateway.ts'
import { assertOAuthError, openHolder } from '../support/oauth.ts'
import { findFreePort } from '../support/ports.ts'

const publicUrl = 'https://api.example.com'

const port = await findFreePort()
/** Where the gateway that clients know as `publicUrl` really listens. */
const door = `http://127.0.0.1:${port}`
const limits = { CLIENT_FAILURES_PER_MINUTE: '3' }
const settings = { BASE_URL: publicUrl, TRUST_PROXY: '127.0.0.1', PORT: String(port), SANDBOX_PORT: '0' }
const behindProxy = await openHouse({ ...settings, ...limits })
const plain = await openHouse(limits)
const client = await behindProxy.makeClient()

const overTls = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' }

function exchange(
  headers: Record<string, string>,
  as: Pick<TestClient, 'id' | 'secret'> = client,
): Promise<Answer> {
  const fields = { grant_type: 'authorization_code', code: 'x' }
  return postForm(`${door}/v1/oauth/accesstoken`, fields, { ...basic(as), ...headers })
}

// O2
test('a request that came in the clear is refused and not redirected, on every address', async () => {
  const paths = [
    '/v1/oauth/authorize?client_id=x',
    '/v1/user/profile',
    '/login',
    '/account',
    '/nowhere',
    '/openapi.json',
  ]
  const answers = await Promise.all(paths.map((path) => send(door + path)))
  const methods = ['accesstoken', 'refreshtoken', 'revoke', 'introspect']
  answers.push(
    ...(await Promise.all(methods.map((path) => postForm(`${door}/v1/oauth/${path}`, {}, basic(client))))),
  )
  for (const answer of answers) {
    assert.equal(answer.status, 400)
    assert.equal(answer.location, undefined)
    assert.match(answer.text, /https/)
  }
  assertOAuthError(await exchange({ 'x-forwarded-proto': 'http' }), 'invalid_request')
})

// O2
test('a request that came through https is answered, with strict transport security', async () => {
  const answer = await exchange(overTls)
  assertOAuthError(answer, 'invalid_grant')
  assert.match(String(answer.headers['strict-transport-security']), /max-age=\d{8,}/)
  const page = await send(`${door}/login`, { headers: { ...overTls, accept: 'text/html' } })
  assert.match(String(page.headers['strict-transport-security']), /max-age=\d{8,}/)
})

// O2
test('health is told in the clear, for those who watch the service from beside it', async () => {
  for (const path of ['/healthz', '/readyz']) assert.equal((await send(door + path)).status, 200)
})

// O2
test('the addresses of an https site are https, whatever port it listens on', async () => {
  const answer = await send(`${door}/.well-known/oauth-authorization-server`, { headers: overTls })
  assert.equal(answer.json().issuer, publicUrl)
  const query = `client_id=${client.id}&scope=read&state=st`
  const asked = await send(`${door}/v1/oauth/authorize?${query}`, { headers: overTls })
  assert.ok(asked.location?.startsWith(`${publicUrl}/login?request=`))
})

// O2
test('a public address without https is refused before the service starts', () => {
  assert.throws(() => readConfig({ BASE_URL: 'http://api.example.com' }), /BASE_URL.*https/)
  assert.throws(() => readConfig({ SANDBOX_URL: 'http://sandbox.example.com' }), /SANDBOX_URL.*https/)
  assert.throws(() => readConfig({ BASE_URL: publicUrl }), /TLS_CERT_FILE.*TRUST_PROXY/)
  for (const BASE_URL of ['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080']) {
    assert.equal(readConfig({ BASE_URL }).sites[0]?.baseUrl, BASE_URL)
  }
})

// O1, T9
test('behind the named proxy the limit on failures is counted by the address that the proxy tells', async () => {
  const wrong = { id: client.id, secret: 'x' }
  const from = (address: string) => exchange({ ...overTls, 'x-forwarded-for': address }, wrong)
  for (let count = 0; count < 3; count++) assertOAuthError(await from('198.51.100.1'), 'invalid_client')
  assert.equal((await from('198.51.100.1')).status, 429)
  assertOAuthError(await from('198.51.100.2'), 'invalid_client')
})

// T9
test('the addresses of one IPv6 /64 count as one, so that nobody guesses from ever new ones', async () => {
  const wrong = { id: client.id, secret: 'x' }
  const from = (address: string) => exchange({ ...overTls, 'x-forwarded-for': address }, wrong)
  for (const last of ['1', '2', 'ffff:1:2'])
    assertOAuthError(await from(`2001:db8:0:7::${last}`), 'invalid_client')
  assert.equal((await from('2001:db8:0:7:1:2:3:4')).status, 429)
  assertOAuthError(await from('2001:db8:0:8::1'), 'invalid_client')
})

// O1
test('what stands before the address that the proxy saw is hearsay', async () => {
  const wrong = { id: 'A'.repeat(24), secret: 'x' }
  const from = (chain: string) => exchange({ ...overTls, 'x-forwarded-for': chain }, wrong)
  for (let count = 0; count < 3; count++) await from(`10.0.0.${count}, 198.51.100.9`)
  assert.equal((await from('10.0.0.99, 198.51.100.9')).status, 429)
})

// O1, T9
test('without a named proxy X-Forwarded-* headers count for nothing', async () => {
  const url = `${plain.baseUrl}/v1/oauth/accesstoken`
  const own = await plain.makeClient()
  const fields = { grant_type: 'authorization_code', code: 'x' }
  const wrong = basic({ id: own.id, secret: 'x' })
  const statuses: number[] = []
  for (let count = 0; count < 4; count++) {
    const spoofed = { 'x-forwarded-for': `198.51.100.${count}`, forwarded: `for=198.51.100.${count}` }
    statuses.push(
      (await postForm(url, fields, { ...wrong, ...spoofed, 'x-real-ip': `198.51.100.${count}` })).status,
    )
  }
  assert.deepEqual(statuses, [401, 401, 401, 429])
})

// O1
test('the audit log holds the address of the peer, not the one it claims', async () => {
  const own = await plain.makeClient()
  const code = await (await openHolder(plain)).code(own)
  const fields = { grant_type: 'authorization_code', code }
  const claimed = { 'x-forwarded-for': '198.51.100.77' }
  const answer = await postForm(`${plain.baseUrl}/v1/oauth/accesstoken`, fields, {
    ...basic(own),
    ...claimed,
  })
  assert.equal(answer.status, 200)
  const [entry] = await findEntries(plain.gateway.context.db, { actor: `client:${own.id}`, limit: 1 })
  assert.equal(entry?.action, 'code.exchanged')
  assert.equal(entry?.address, '127.0.0.1')
})
