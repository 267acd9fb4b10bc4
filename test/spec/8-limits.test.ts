/** Spec 8: how much, how often, how long. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { minute, second } from '../../src/clock.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { type Answer, postForm, send } from '../support/browser.ts'
import { basic, openHouse, openTestGateway, type TestClient } from '../support/gateway.ts'
import { assertOAuthError, assertProblem, openHolder, openSecondNode, sendRaw } from '../support/oauth.ts'

const failuresPerMinute = 4
const requestTimeoutMs = 300
/** Shorter than what clients have by default. */
const timeoutMs = 12_000

const house = await openHouse({
  RATE_LIMIT_PER_MINUTE: '',
  SANDBOX_RATE_LIMIT_PER_MINUTE: '',
  CLIENT_FAILURES_PER_MINUTE: String(failuresPerMinute),
})
/**
 * For those who dawdle alone: a busy machine may need longer than this to read a request that has arrived.
 */
const hasty = await openHouse({ REQUEST_TIMEOUT_MS: String(requestTimeoutMs) })
const client = await house.makeClient()

function usageOf({ headers }: Answer): Record<'allowed' | 'used' | 'available' | 'expiry', number> {
  const read = (name: string) => Number(headers[`x-ratelimit-${name}`])
  return {
    allowed: read('allowed'),
    used: read('used'),
    available: read('available'),
    expiry: read('expiry'),
  }
}

function endOfMinute(): number {
  return (Math.floor(house.clock.now().getTime() / minute) + 1) * minute
}

test('a token may make 120 requests a minute in live and 60 in the sandbox, and each answer tells the count', async () => {
  const user = await house.makeUser()
  for (const [environment, allowed] of [
    ['live', 120],
    ['sandbox', 60],
  ] as [Environment, number][]) {
    const token = await house.makeToken(user, environment)
    for (let used = 1; used <= allowed; used++) {
      const answer = await house.profile(token, environment)
      assert.equal(answer.status, 200)
      assert.deepEqual(usageOf(answer), { allowed, used, available: allowed - used, expiry: endOfMinute() })
    }
    assertProblem(await house.profile(token, environment), 429, 'too_many_requests')
  }
})

test('a 429 says when to come back, and then the token works again', async () => {
  const token = await house.makeToken(await house.makeUser(), 'sandbox')
  house.clock.advance(endOfMinute() - house.clock.now().getTime() + 10 * second)
  for (let used = 1; used <= 60; used++) await house.profile(token, 'sandbox')
  const refused = await house.profile(token, 'sandbox')
  assertProblem(refused, 429, 'too_many_requests')
  assert.equal(refused.headers['retry-after'], '50')
  house.clock.advance(49 * second)
  assert.equal((await house.profile(token, 'sandbox')).status, 429)
  house.clock.advance(second)
  assert.equal((await house.profile(token, 'sandbox')).status, 200)
})

test('a 429 carries the same counters as every other answer', async () => {
  const token = await house.makeToken(await house.makeUser(), 'sandbox')
  for (let used = 1; used <= 60; used++) await house.profile(token, 'sandbox')
  const refused = await house.profile(token, 'sandbox')
  assert.equal(refused.status, 429)
  const { allowed, available, expiry } = usageOf(refused)
  assert.deepEqual({ allowed, available, expiry }, { allowed: 60, available: 0, expiry: endOfMinute() })
})

test('one token that is used up costs no other token anything, not even of the same user', async () => {
  const user = await house.makeUser()
  const [busy, calm] = [await house.makeToken(user, 'sandbox'), await house.makeToken(user, 'sandbox')]
  for (let used = 1; used <= 61; used++) await house.profile(busy, 'sandbox')
  assert.equal((await house.profile(busy, 'sandbox')).status, 429)
  assert.equal(usageOf(await house.profile(calm, 'sandbox')).used, 1)
})

test('of 200 parallel requests of one token exactly 120 are answered', async () => {
  const token = await house.makeToken(await house.makeUser())
  const answers = await Promise.all(Array.from({ length: 200 }, () => house.profile(token)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 120)
  assert.equal(answers.filter(({ status }) => status === 429).length, 80)
})

test('requests that fail for their scope count, and a refused token has no counter', async () => {
  const holder = await openHolder(house)
  const { access_token } = await holder.tokens(client, { scope: 'market' })
  assert.equal(usageOf(await house.profile(access_token)).used, 1)
  assert.equal(usageOf(await house.profile(access_token)).used, 2)
  assert.equal((await house.profile('x')).headers['x-ratelimit-used'], undefined)
})

function knock(as: Pick<TestClient, 'id' | 'secret'>): Promise<Answer> {
  const fields = { grant_type: 'authorization_code', code: 'x' }
  return postForm(`${house.baseUrl}/v1/oauth/accesstoken`, fields, basic(as))
}

// T9
test('failed authentications of a client from one address are limited, and told when to come back', async () => {
  house.clock.advance(minute)
  const attacked = await house.makeClient()
  const wrong = { id: attacked.id, secret: 'x' }
  for (let count = 0; count < failuresPerMinute; count++)
    assertOAuthError(await knock(wrong), 'invalid_client')
  const refused = await knock(wrong)
  assertOAuthError(refused, 'too_many_requests', 429)
  assert.ok(Number(refused.headers['retry-after']) >= 1 && Number(refused.headers['retry-after']) <= 60)
  house.clock.advance(minute)
  assertOAuthError(await knock(wrong), 'invalid_client')
  assertOAuthError(await knock(attacked), 'invalid_grant')
})

// T9
test('while the limit holds the right secret is refused too, so that guessing gains nothing', async () => {
  house.clock.advance(minute)
  const attacked = await house.makeClient()
  for (let count = 0; count < failuresPerMinute; count++) await knock({ id: attacked.id, secret: 'x' })
  assertOAuthError(await knock(attacked), 'too_many_requests', 429)
})

// T9
test('the failures of one client cost another client at the same address nothing', async () => {
  house.clock.advance(minute)
  const wrong = { id: (await house.makeClient()).id, secret: 'x' }
  for (let count = 0; count < failuresPerMinute + 2; count++) await knock(wrong)
  assertOAuthError(await knock(client), 'invalid_grant')
})

// T9
test('successes are not failures: a busy client is never limited here', async () => {
  house.clock.advance(minute)
  const answers = await Promise.all(Array.from({ length: 5 * failuresPerMinute }, () => knock(client)))
  for (const answer of answers) assertOAuthError(answer, 'invalid_grant')
})

// T9
test('failures with ever new client ids from one address are limited too', async () => {
  house.clock.advance(minute)
  const statuses: number[] = []
  for (let count = 0; count < 20 * failuresPerMinute; count++) {
    statuses.push((await knock({ id: `Guess${String(count).padStart(19, '0')}`, secret: 'x' })).status)
  }
  assert.ok(statuses.includes(429), 'guessing is slowed down')
  assertOAuthError(await knock(client), 'invalid_grant')
})

// T9
test('the limit holds at every endpoint that asks for a client', async () => {
  house.clock.advance(minute)
  const wrong = basic({ id: (await house.makeClient()).id, secret: 'x' })
  const paths = ['accesstoken', 'refreshtoken', 'revoke', 'introspect']
  for (const path of paths) await postForm(`${house.baseUrl}/v1/oauth/${path}`, { token: 'x' }, wrong)
  for (const path of paths) {
    const answer = await postForm(`${house.baseUrl}/v1/oauth/${path}`, { token: 'x' }, wrong)
    assert.equal(answer.status, 429, path)
  }
})

test('failed authentications of a service are limited like those of a client', async () => {
  house.clock.advance(minute)
  const wrong = basic({ id: 'S'.repeat(24), secret: 'x' })
  const publish = () =>
    send(`${house.internalUrl}/internal/v1/events`, {
      method: 'POST',
      headers: { ...wrong, 'content-type': 'application/json' },
      body: '{}',
    })
  for (let count = 0; count < failuresPerMinute; count++) assert.equal((await publish()).status, 401)
  assert.equal((await publish()).status, 429)
})

test('a head over 16 KiB is a 431, and one a little under it is read', async () => {
  const head = (length: number) =>
    `GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-filler: ${'f'.repeat(length)}\r\n\r\n`
  assert.equal((await sendRaw(house.baseUrl, head(15_000))).status, 404)
  const refused = await sendRaw(house.baseUrl, head(17_000))
  assert.equal(refused.status, 431)
  assert.equal((JSON.parse(refused.body) as { error: string }).error, 'invalid_request')
  const address = `GET /${'a'.repeat(17_000)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
  assert.equal((await sendRaw(house.baseUrl, address)).status, 431)
})

test('a body over 64 KiB is a 413, and one a little under it is read', async () => {
  const headers = { accept: 'application/json' }
  const many = { kind: Array.from({ length: 8 }, () => 'x'.repeat(8_000)) }
  const within = await postForm(`${house.baseUrl}/login`, many, headers)
  assert.equal(within.status, 403)
  assert.equal(
    (await postForm(`${house.baseUrl}/login`, { username: 'x'.repeat(65_536) }, headers)).status,
    413,
  )
})

const dawdling: Record<string, string> = {
  'a body': 'POST /v1/oauth/accesstoken HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\ngrant_type=',
  'a chunked body': 'POST /login HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n',
  'a head': 'GET /v1/user/profile HTTP/1.1\r\nhost: x\r\nx-slow: ',
}
for (const [what, bytes] of Object.entries(dawdling)) {
  test(`${what} that does not arrive within the request timeout is cut off with a 408`, {
    timeout: timeoutMs,
  }, async ({ signal }) => {
    const form = 'content-type: application/x-www-form-urlencoded\r\n'
    const answer = await sendRaw(hasty.baseUrl, bytes.replace('host: x\r\n', `host: x\r\n${form}`), signal)
    assert.equal(answer.status, 408)
    assert.match(answer.head, /connection: close/i)
  })
}

test('connections beyond the limit are closed unheard, and one that ends makes room', async () => {
  const small = await openTestGateway({ CONNECTION_LIMIT: '2', SECRET_KEY: house.settings.SECRET_KEY! })
  const { hostname, port } = new URL(small.baseUrl)
  const open = () => connect(Number(port), hostname).on('error', () => {})
  const held = [open(), open()]
  await Promise.all(held.map((socket) => once(socket, 'connect')))
  const beyond = open().resume()
  await once(beyond, 'close')
  for (const socket of held) {
    socket.end('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    const [head] = await once(socket, 'data')
    assert.match(String(head), /^HTTP\/1.1 200/)
    await once(socket.resume(), 'close')
  }
  assert.equal((await send(`${small.baseUrl}/healthz`)).status, 200)
  await small.close()
})

test('a client that says nothing at all is cut off too', { timeout: timeoutMs }, async ({ signal }) => {
  const answer = await sendRaw(hasty.baseUrl, '', signal)
  assert.ok(Number.isNaN(answer.status) || answer.status === 408)
})

test('clients that dawdle keep nobody else waiting', async () => {
  const deadline = new AbortController()
  const slow = Array.from({ length: 50 }, () => sendRaw(house.baseUrl, dawdling['a body']!, deadline.signal))
  assert.equal((await send(`${house.baseUrl}/readyz`)).status, 200)
  deadline.abort()
  await Promise.allSettled(slow)
})

test('clients that dawdle do not keep the gateway from stopping', { timeout: 60_000 }, async ({ signal }) => {
  const node = await openSecondNode(hasty)
  const slow = Promise.allSettled(
    Object.values(dawdling).map((bytes) => sendRaw(node.baseUrl, bytes, signal)),
  )
  await send(`${node.baseUrl}/healthz`)
  await node.close()
  await slow
})
