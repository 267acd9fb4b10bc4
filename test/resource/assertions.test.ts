/** The assertions of forward-auth, as an API verifies them with @countersign/resource. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto'
import { test } from 'node:test'
import { openAssertions } from '../../resource/src/assertions.ts'
import {
  type AssertionOptions,
  assertionHeader,
  Refusal,
  type Unavailable,
} from '../../resource/src/index.ts'
import { openTokenSigner } from '../../src/crypto/token-signer.ts'
import { openHouse } from '../support/gateway.ts'
import { openHeldWire } from '../support/held-wire.ts'
import { keepOpen } from '../support/keep-open.ts'
import { MovedClock } from '../support/resource.ts'

const house = await openHouse()
const { vault, clock } = house.gateway.context
const signer = openTokenSigner(vault, clock, 'live token-signature')
const serviceId = 'orders'
const typ = 'request-assertion+jwt'
const request = { method: 'POST', host: 'api.example.com', target: '/orders?account=A1&x=%2F' }

interface Opened extends Partial<AssertionOptions> {
  readonly clock?: MovedClock
}

function open(options: Opened = {}) {
  const clock = options.clock ?? new MovedClock(house)
  const failures: Unavailable[] = []
  const assertions = openAssertions({
    issuer: house.baseUrl,
    serviceId,
    onFailure: (error) => failures.push(error),
    ...options,
    clock,
  })
  const status = async (
    assertion: string | string[] | undefined,
    asked: typeof request | { host: undefined } = request,
    account?: string,
    scope = 'trade',
  ) => {
    const presented = { ...request, ...asked, headers: { [assertionHeader]: assertion } }
    const judgement = await assertions.judge(presented, assertions.demand({ scope }), account)
    return judgement instanceof Refusal ? judgement.status : 200
  }
  return { status, failures, clock, close: () => assertions.close() }
}

const api = await keepOpen(open())

const seconds = () => Math.floor(house.clock.now().getTime() / 1000)
const hashOf = ({ method, host, target } = request) =>
  hash('sha256', `${method}\n${host}\n${target}`, 'base64url')

function claims(other: Record<string, unknown> = {}) {
  const iat = seconds()
  const times = { iat, exp: iat + 60, jti: randomUUID() }
  const said = { sub: 'id-1', scope: 'read trade', account_numbers: ['A1'] }
  return { iss: house.baseUrl, aud: serviceId, ...times, request_hash: hashOf(), ...said, ...other }
}

const good = (other?: Record<string, unknown>) => signer.sign(typ, claims(other))

test('an assertion lets its own request in, with what it says', async () => {
  assert.equal(await api.status(good()), 200)
  assert.equal(await api.status(good(), request, 'A1'), 200)
  assert.equal(await api.status(good(), request, 'A2'), 403)
  assert.equal(await api.status(good({ scope: 'read' })), 403)
})

test('the assertion of one request is refused on another', async () => {
  const assertion = good()
  const others = {
    method: [...['GET', 'post', 'PUT', ''].map((method) => ({ ...request, method }))],
    host: ['api.example.com:443', 'example.com', 'evil.example', ''].map((host) => ({ ...request, host })),
    target: [
      '/orders',
      '/orders?account=A2&x=%2F',
      '/orders?account=A1&x=/',
      '/',
      '/orders?account=A1&x=%2f',
    ].map((target) => ({ ...request, target })),
    shifted: [{ method: 'POST\napi.example.com', host: '/orders?account=A1&x=%2F', target: '' }],
  }
  for (const [what, each] of Object.entries(others))
    for (const other of each)
      assert.equal(await api.status(assertion, other), 401, `${what} ${JSON.stringify(other)}`)
  assert.equal(await api.status(assertion, { ...request, host: 'API.example.com' }), 200)
  assert.equal(await api.status(assertion, { host: undefined }), 401)
})

test('no assertion, two of them, or what is none, lets nobody in', async () => {
  const assertion = good()
  const [head, body, mark] = assertion.split('.') as [string, string, string]
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ })).toString('base64url')
  const wrong = [
    ...[undefined, '', 'x', 'a.b', 'a.b.c', '..', `${head}.${body}.`, `${head}.${body}`],
    ...[
      `${assertion}, ${assertion}`,
      `${assertion}.`,
      `${assertion}\n`,
      `${unsigned}.${body}.`,
      `${unsigned}.${body}.${mark}`,
    ],
    `${head}.${Buffer.from(JSON.stringify(claims({ scope: 'read trade write' }))).toString('base64url')}.${mark}`,
    `${head}.${body}.${mark.slice(0, -2)}AA`,
    'a'.repeat(100_000),
  ]
  for (const each of wrong) assert.equal(await api.status(each), 401, each?.slice(0, 80))
  assert.equal(await api.status([assertion, assertion]), 401)
})

test('what the gateway signs for another purpose, service, site or time is no assertion here', async () => {
  assert.equal(await api.status(signer.sign('token-introspection+jwt', claims())), 401)
  assert.equal(await api.status(signer.sign('JWT', claims())), 401)
  for (const other of [
    { aud: 'another' },
    { aud: [serviceId] },
    { aud: undefined },
    { iss: house.sandboxUrl },
    { iss: undefined },
    { exp: undefined },
    { exp: null },
    { iat: undefined },
    { exp: seconds() - 6, iat: seconds() - 66 },
    { iat: seconds() + 6 },
    { request_hash: undefined },
  ])
    assert.equal(await api.status(good(other)), 401, JSON.stringify(other))
})

test('an assertion ends after a minute', async () => {
  const own = open()
  const assertion = good()
  own.clock.advance(64_000)
  assert.equal(await own.status(assertion), 200, 'clocks may differ by five seconds')
  own.clock.advance(1_000)
  assert.equal(await own.status(assertion), 401)
  own.close()
})

/** Signed with a key of somebody else's, whatever its header says. */
function forge(header: Record<string, unknown>, other?: Record<string, unknown>): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  const text = [header, claims(other)]
    .map((each) => Buffer.from(JSON.stringify(each)).toString('base64url'))
    .join('.')
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
}

test('a signature by any other key, or in any other way, is none', async () => {
  const { kid } = signer.publicKeys()[0]!
  const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  for (const header of [
    { alg: 'EdDSA', typ, kid },
    { alg: 'EdDSA', typ, kid: 'unknown' },
    { alg: 'EdDSA', typ },
    { alg: 'EdDSA', typ, kid, jwk },
    { alg: 'EdDSA', typ, kid, crit: ['exp'] },
    { alg: 'HS256', typ, kid },
    { alg: 'Ed25519', typ, kid },
    { alg: 'eddsa', typ, kid },
    { alg: 'none', typ, kid },
  ])
    assert.equal(await api.status(forge(header)), 401, JSON.stringify(header))
})

test('keys are fetched once, and anew for one that is unknown, but not for whoever makes them up', async () => {
  const wire = await openHeldWire(house.baseUrl)
  const own = open({ issuer: wire.url })
  const iss = { iss: wire.url }
  const guess = async () => {
    for (let n = 0; n < 5; n++)
      assert.equal(await own.status(forge({ alg: 'EdDSA', typ, kid: `made up ${n}` }, iss)), 401)
  }
  try {
    for (let n = 0; n < 5; n++) assert.equal(await own.status(good(iss)), 200)
    assert.equal(wire.connections, 1)
    // From here on every look at the keys takes another connection.
    await wire.cut()
    await guess()
    assert.equal(wire.connections, 1)
    own.clock.advance(10_000)
    await guess()
    assert.equal(wire.connections, 2)
  } finally {
    own.close()
    await wire.close()
  }
})

test('keys are believed for ten minutes; without any the answer is 503, and not 401', async () => {
  const wire = await openHeldWire(house.baseUrl)
  const own = open({ issuer: wire.url })
  // Good for longer than the gateway makes them, to look at the keys alone.
  const iss = { iss: wire.url, exp: seconds() + 3_600 }
  try {
    assert.equal(await own.status(good(iss)), 200)
    await wire.pause()
    own.clock.advance(10 * 60_000 - 1_000)
    assert.equal(await own.status(good(iss)), 200)
    own.clock.advance(10_000)
    assert.equal(await own.status(good(iss)), 503)
    assert.equal(await own.status(good(iss)), 503)
    assert.equal(own.failures.length, 2)
    wire.resume()
    own.clock.advance(1_000)
    assert.equal(await own.status(good(iss)), 200)
  } finally {
    own.close()
    await wire.close()
  }
})

test('where the hosts of the API are said, the one that the proxy sends on does not matter', async () => {
  const own = open({ hosts: ['other.example', 'API.example.com'] })
  assert.equal(await own.status(good(), { ...request, host: '10.0.0.7:8080' }), 200)
  assert.equal(await own.status(good(), { host: undefined }), 200)
  assert.equal(await own.status(good({ request_hash: hashOf({ ...request, host: 'evil.example' }) })), 401)
  own.close()
})

test('of a service that may see no accounts nobody guesses', async () => {
  const own = open()
  assert.equal(await own.status(good({ account_numbers: undefined })), 200)
  assert.equal(await own.status(good({ account_numbers: undefined }), request, 'A1'), 503)
  assert.match(own.failures[0]!.message, /no accounts/)
  own.close()
})
