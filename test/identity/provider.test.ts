/**
 * The brokerage's providers as rows: what is refused, what the test button says, and what removing one does.
 */

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { hour, minute } from '../../src/clock.ts'
import { recogniseVouched } from '../../src/identity/identity.ts'
import { openProviderFetch } from '../../src/identity/open-providers.ts'
import { addProvider, findProvider, removeProvider } from '../../src/identity/provider.ts'
import type { ProviderDraft } from '../../src/identity/provider-draft.ts'
import { testProvider } from '../../src/identity/provider-test.ts'
import { openGuardedFetch } from '../../src/network/guarded-fetch.ts'
import { readConfig } from '../../src/settings/config.ts'
import type { StaffRole } from '../../src/vocabulary/permission.ts'
import { ask } from '../support/ask.ts'
import { Browser } from '../support/browser.ts'
import { makeCertificate } from '../support/certificate.ts'
import { newFolder } from '../support/folder.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import {
  clientSecret,
  makeCustomer,
  openUpstream,
  registerUpstream,
  signInThere,
} from '../support/upstream.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const { db, vault, upstreams } = house.gateway.context
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const publicJwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'gateway', use: 'sig', alg: 'ES256' }
const upstream = await keepOpen(
  openUpstream(house, { name: 'bank', people: { 'sub-ada': { customer_id: 'C-1' } } }),
)
await registerUpstream(house, upstream, 'bank')
await makeCustomer(house, 'C-1')

const draft: ProviderDraft = {
  ...{
    name: 'other',
    kind: 'holder',
    label: 'Other',
    issuer: 'https://login.example.com',
    clientId: 'countersign',
  },
  ...{
    proof: 'client_secret_basic',
    credential: 'secret',
    scopes: ['openid'],
    linkClaim: 'customer_id',
    linkSource: 'core',
  },
  ...{
    strongAcr: [],
    strongAmr: [],
    ownSecondStep: true,
    rolesClaim: null,
    roleMap: {},
    logoutEnds: 'session',
  },
}
const add = (more: Partial<ProviderDraft>, allowLoopback = false) =>
  addProvider(db, vault, { ...draft, ...more }, { allowLoopback }, house.act())

const refused: Record<string, [Partial<ProviderDraft>, RegExp]> = {
  'an issuer without TLS': [{ issuer: 'http://login.example.com' }, /issuer must begin with https/],
  'an issuer with a query': [
    { issuer: 'https://login.example.com/?x=1' },
    /issuer must be an address without/,
  ],
  'an issuer with credentials': [
    { issuer: 'https://a:b@login.example.com' },
    /issuer must be an address without/,
  ],
  'a link by e-mail': [{ linkClaim: 'email' }, /link-claim must not be an e-mail address or a name/],
  'a link by name': [{ linkClaim: 'preferred_username' }, /link-claim must not be/],
  'scopes without openid': [{ scopes: ['profile'] }, /scopes must include openid/],
  'a name that fits into no address': [{ name: 'Bank ID' }, /name must be/],
  'roles from a provider of holders': [{ rolesClaim: 'groups' }, /roles-claim is for staff/],
  'an external id of staff': [{ kind: 'staff' }, /link-claim is for holders/],
  'a private key that is none': [
    { proof: 'private_key_jwt', credential: 'secret' },
    /key must be a private key/,
  ],
  'no second factor of staff, there or here': [
    { kind: 'staff', linkClaim: null, ownSecondStep: false },
    /strong-acr is missing: staff are asked for a second factor/,
  ],
  'no second factor of holders, there or here': [
    { ownSecondStep: false },
    /strong-acr is missing: .* nobody could ever prove one, there or here\.$/,
  ],
  'a role that there is not': [
    { kind: 'staff', linkClaim: null, rolesClaim: 'groups', roleMap: { all: 'king' as StaffRole } },
    /role must name roles that there are: viewer, /,
  ],
  'no secret': [{ credential: '' }, /secret is missing/],
  'an issuer that is a provider already': [{ issuer: 'ISSUER' }, /issuer is a provider already/],
}
for (const [what, [more, why]] of Object.entries(refused)) {
  test(`a provider with ${what} is refused`, async () => {
    const issuer = more.issuer === 'ISSUER' ? { issuer: upstream.issuer } : {}
    await assert.rejects(add({ ...more, ...issuer }, 'issuer' in issuer), why)
  })
}

test('its secret is sealed, and a dump of the database does not have it', async () => {
  const [row] = await ask<{ text: string }>(
    db,
    `SELECT string_agg(p::text, '') AS text FROM identity_providers p`,
  )
  assert.ok(!row!.text.includes(Buffer.from(clientSecret).toString('hex')))
})

const statesOf = async (name: string) =>
  Object.fromEntries(
    (await testProvider(upstreams, house.clock, (await findProvider(db, name))!)).map((each) => [
      each.check,
      each,
    ]),
  )

test('a test says that a provider is as it should be, without anybody signing in', async () => {
  const states = await statesOf('bank')
  for (const check of [
    'Metadata',
    'Keys',
    'Client',
    'PKCE',
    'Issuer in answers',
    'Sign-out',
    'Second factor',
  ])
    assert.equal(states[check]?.state, 'good', `${check}: ${states[check]?.told}`)
})

test('a test says what is wrong: the secret, the issuer, a provider that is away', async () => {
  const change = (name: string, value: unknown) =>
    ask(db, `UPDATE identity_providers SET ${name} = $1 WHERE name = 'bank'`, [value])
  const [kept] = await ask<{ sealed: Buffer }>(
    db,
    `SELECT sealed FROM identity_providers WHERE name = 'bank'`,
  )
  await change('sealed', vault.seal(`identity-provider:${upstream.issuer}`, 'another secret'))
  assert.match((await statesOf('bank')).Client!.told, /does not accept the client id with this credential/)
  await change('sealed', kept!.sealed)
  await change('strong_acr', ['urn:unheard-of'])
  assert.match((await statesOf('bank'))['Second factor']!.told, /does not know the acr urn:unheard-of/)
  await change('strong_acr', [])
  await upstream.leave()
  house.clock.advance(2 * minute)
  assert.match((await statesOf('bank')).Metadata!.told, /away/)
  await upstream.return()
  house.clock.advance(2 * minute)
  await upstream.keepTime()
  assert.equal((await statesOf('bank')).Metadata!.state, 'good')
})

test('a test hears that the credential is refused in whichever words: Keycloak calls a wrong secret unauthorized_client', async () => {
  for (const [status, error, told] of [
    [401, 'unauthorized_client', /does not accept the client id with this credential/],
    [401, 'invalid_request', /does not accept the client id with this credential/],
    [400, 'unauthorized_client', /does not let this client exchange a code/],
  ] as const) {
    await upstream.lie({ refusal: [status, error] })
    const { Client: client } = await statesOf('bank')
    assert.equal(client!.state, 'wrong', `${status} ${error}`)
    assert.match(client!.told, told)
  }
  await upstream.lie({ refusal: [400, 'invalid_request'] })
  assert.match((await statesOf('bank')).Client!.told, /does not say whether the credential is right/)
  await upstream.lie(undefined)
})

test('a test asks the provider itself, though it was asked a moment ago', async () => {
  await upstream.keepTime()
  assert.equal((await statesOf('bank')).Metadata!.state, 'good')
  await upstream.lie({
    metadata: { end_session_endpoint: 'ftp://login.example.com', issuer: upstream.issuer },
  })
  assert.equal((await statesOf('bank')).end_session_endpoint!.state, 'warning')
  await upstream.lie({ keys: { keys: [] } })
  assert.match((await statesOf('bank')).Keys!.told, /^Its keys cannot be read: It has no key that signs/)
  await upstream.lie(undefined)
  assert.equal((await statesOf('bank')).Keys!.state, 'good')
  house.clock.advance(minute)
  assert.match((await statesOf('bank')).Clock!.told, /^This machine is \d+ seconds ahead of it\./)
  await upstream.keepTime()
  assert.equal((await statesOf('bank')).Clock!.state, 'good')
})

test('a test says what a logout token ends, and that Keycloak needs more', async () => {
  const change = (name: string, value: unknown) =>
    ask(db, `UPDATE identity_providers SET ${name} = $1 WHERE name = 'bank'`, [value])
  const told = async () => (await statesOf('bank'))['Sign-out from there']!
  assert.deepEqual(
    [(await told()).state, (await told()).told],
    ['good', 'A logout token ends the session that it names.'],
  )
  await change('logout_ends', 'person')
  assert.match((await told()).told, /ends all sessions that the person has/)
  await change('logout_ends', 'session')
  await upstream.lie({ metadata: { backchannel_logout_supported: false } })
  assert.match((await told()).told, /does not say that it sends logout tokens/)
  await upstream.lie(undefined)
  const server = createServer((_request, response) => {
    const { port } = server.address() as AddressInfo
    const issuer = `http://127.0.0.1:${port}/realms/bank`
    const addresses = { authorization_endpoint: issuer, token_endpoint: issuer, jwks_uri: `${issuer}/keys` }
    response.end(JSON.stringify({ issuer, ...addresses, backchannel_logout_supported: true }))
  }).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/bank`
  const keycloak = await registerUpstream(house, { issuer }, 'keycloak')
  const { told: words, state } = (await statesOf('keycloak'))['Sign-out from there']!
  assert.equal(state, 'warning')
  assert.match(words, /Keycloak’s “log out all” .*--logout-ends person/)
  await removeProvider(db, keycloak, house.act())
  server.close()
})

test('with a private key the gateway shows who it is, and no secret is shared', async () => {
  const client = {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [publicJwk] },
    client_secret: undefined,
  }
  const people = { 'sub-ada': { customer_id: 'C-1' } }
  const other = await openUpstream(house, { name: 'keyed', people, client })
  try {
    const credential = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    await registerUpstream(house, other, 'keyed', { proof: 'private_key_jwt', credential })
    const answer = await signInThere(new Browser(house.baseUrl), other, 'sub-ada', {
      path: '/login/with/keyed',
    })
    assert.equal(answer.status, 303, answer.text)
  } finally {
    await removeProvider(db, (await findProvider(db, 'keyed'))!, house.act())
    await other.close()
  }
})

test('an address inside is not asked, unless its network is named', async () => {
  const server = createServer((_request, response) => response.end('inside')).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const asked = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const
  const closed = openGuardedFetch({ policy: { allowLoopback: false, ports: [] }, dnsServers: [] })
  await assert.rejects(closed(url, asked), /not allowed/)
  await assert.rejects(closed(url.replace('127.0.0.1', 'localhost'), asked), /not allowed/)
  await assert.rejects(closed('http://169.254.169.254/latest/', asked), /not allowed/)
  const opened = openGuardedFetch({
    policy: { allowLoopback: false, ports: [], networks: ['127.0.0.0/8'] },
    dnsServers: [],
  })
  assert.equal(await (await opened(url, asked)).text(), 'inside')
  server.close()
})

test('a certificate of the brokerage’s own authority is taken where PROVIDER_CA_FILE names that, and nowhere else', async () => {
  const now = Date.now()
  const { cert, key } = makeCertificate(['localhost'], new Date(now - hour), new Date(now + hour), 'rsa')
  const server = createTlsServer({ cert, key }, (_request, response) => response.end('inside')).listen(
    0,
    '127.0.0.1',
  )
  await new Promise((done) => server.once('listening', done))
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`
  const asked = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const
  await assert.rejects(
    openProviderFetch(readConfig(house.settings))(url, asked),
    /vouches for its certificate; PROVIDER_CA_FILE names/,
  )
  const file = join(newFolder('provider-authority'), 'ca.pem')
  writeFileSync(file, cert)
  const config = readConfig({ ...house.settings, PROVIDER_CA_FILE: file })
  assert.equal(await (await openProviderFetch(config)(url, asked)).text(), 'inside')
  server.close()
})

test('an answer that never ends is cut off', async () => {
  const server = createServer((_request, response) => response.end('x'.repeat(1024 * 1024))).listen(
    0,
    '127.0.0.1',
  )
  await new Promise((done) => server.once('listening', done))
  const fetch = openGuardedFetch({ policy: { allowLoopback: true, ports: [] }, dnsServers: [] })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  await assert.rejects(
    fetch(url, { method: 'GET', headers: {}, body: undefined, redirect: 'manual' }),
    /answers with more than 512 KiB/,
  )
  server.close()
})

test('a provider that is away is named, with when to come back; what it said before does for those on their way', async () => {
  house.clock.advance(2 * minute)
  await upstream.keepTime()
  const browser = new Browser(house.baseUrl)
  const start = await browser.get('/login')
  const back = await upstream.signIn(start.location!, 'sub-ada')
  await upstream.leave()
  house.clock.advance(2 * minute)
  const away = await new Browser(house.baseUrl).get('/login')
  assert.equal(away.status, 503)
  assert.equal(away.headers['retry-after'], '30')
  assert.match(away.text, /Example Bank ID is not available/)
  const late = await browser.get(back)
  assert.equal(late.status, 503, 'the code cannot be traded now')
  await upstream.return()
  await upstream.keepTime()
  house.clock.advance(minute)
  const again = await signInThere(browser, upstream, 'sub-ada')
  assert.equal(again.status, 303, again.text)
  house.clock.advance(25 * hour)
})

test('whoever signed in at a provider that is removed is signed out', async () => {
  await upstream.keepTime()
  const browser = new Browser(house.baseUrl)
  await signInThere(browser, upstream, 'sub-ada')
  assert.equal(await isSignedIn(browser), true)
  await removeProvider(db, (await findProvider(db, 'bank'))!, house.act())
  assert.equal(await isSignedIn(browser), false)
})

test('whoever was linked is known when the provider is added again with its issuer, whatever it says of them now', async () => {
  const again = await registerUpstream(house, upstream, 'bank', { linkClaim: null })
  const browser = new Browser(house.baseUrl)
  const answer = await signInThere(browser, upstream, 'sub-ada')
  assert.equal(answer.status, 303, answer.text)
  assert.equal(await isSignedIn(browser), true)
  await removeProvider(db, again, house.act())
})

test('a sign-in that comes back after its provider was removed ends, and knows nobody', async () => {
  const gone = await add({ name: 'gone', issuer: 'https://gone.example.com' })
  await makeCustomer(house, 'C-9')
  await removeProvider(db, gone, house.act())
  const said = { subject: 'sub-gone', claimed: 'C-9', join: undefined }
  const found = await db.transaction((sql) => recogniseVouched(sql, gone, said, house.act()))
  assert.deepEqual(found, { kind: 'unknown', why: 'the provider was removed' })
})
