/** Signing out: here and there, and here because of there (OpenID Connect Back-Channel Logout 1.0). */

import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { findEntries } from '../../src/audit/audit.ts'
import { minute, second } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { unlinkByHand } from '../../src/identity/identity.ts'
import { ask } from '../support/ask.ts'
import { Browser, hiddenFields, postForm } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { type App, sendSecond, setUpApp } from '../support/second-factor.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { isSignedIn, pathOf } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const { db } = house.gateway.context
const people = {
  'sub-ada': { customer_id: 'C-1' },
  'sub-ben': { customer_id: 'C-2' },
  'sub-cle': { customer_id: 'C-3' },
}
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
const bank = await registerUpstream(house, upstream, 'bank')
const ada = await makeCustomer(house, 'C-1')
await makeCustomer(house, 'C-2')

async function signedIn(
  who = 'sub-ada',
  origin = house.baseUrl,
  there = new Browser(upstream.issuer),
): Promise<Browser> {
  const browser = new Browser(origin)
  const answer = await signInThere(browser, upstream, who, { cookies: there })
  assert.equal(answer.status, 303, answer.text)
  return browser
}

async function leave(browser: Browser): Promise<URL> {
  const page = await browser.get('/account')
  const answer = await browser.post('/logout', hiddenFields(page.text, '/logout'))
  assert.equal(answer.status, 200, 'a page leads on: no form of ours leads to another site')
  return new URL(/^0; url=(.*)$/.exec(String(answer.headers.refresh))![1]!)
}

test('whoever signs out here is led to sign out there, and comes back to a page that signs nobody in', async () => {
  const browser = await signedIn()
  const address = await leave(browser)
  assert.equal(address.origin, upstream.issuer)
  assert.equal(address.searchParams.get('post_logout_redirect_uri'), `${house.baseUrl}/login/signed-out`)
  assert.ok(address.searchParams.get('id_token_hint'))
  assert.equal(await isSignedIn(browser), false)
  const back = await browser.get('/login/signed-out')
  assert.equal(back.status, 200)
  assert.match(back.text, /You are signed out/)
})

/** As the provider asks whoever arrives there, and then tells every gateway. */
async function confirmThere(there: Browser, address: URL): Promise<string> {
  const page = await there.get(address.href)
  const action = /action="([^"]+)"/.exec(page.text)![1]!
  const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(page.text)!
  return (await there.post(action, { xsrf: xsrf!, logout: 'yes' })).location!
}

test('a sign-out at the provider ends the sessions of that browser on both sites, and no other', async () => {
  const there = new Browser(upstream.issuer)
  const live = await signedIn('sub-ada', house.baseUrl, there)
  const sandbox = await signedIn('sub-ada', house.sandboxUrl, there)
  const elsewhere = await signedIn()
  const other = await signedIn('sub-ben')
  const address = new URL(`${upstream.issuer}/session/end?client_id=countersign`)
  await confirmThere(there, address)
  assert.equal(await isSignedIn(live), false)
  assert.equal(await isSignedIn(sandbox), false)
  assert.equal(await isSignedIn(elsewhere), true)
  assert.equal(await isSignedIn(other), true)
  const [entry] = await findEntries(db, { action: 'session.ended_by_provider', limit: 1 })
  assert.equal(entry!.subject, `user:${ada.id}`)
  assert.equal(entry!.details.sessions, 2)
})

const event = 'http://schemas.openid.net/event/backchannel-logout'
const key = createPrivateKey(upstream.privateKey)
/** By whose own word tokens are made. */
let madeBy = upstream.issuer
const nowSeconds = () => Math.floor(house.clock.now().getTime() / second)

interface LogoutTokenOptions {
  readonly claims?: Record<string, unknown>
  readonly head?: Record<string, unknown>
  readonly by?: typeof key
}

function makeToken({ claims = {}, head = {}, by = key }: LogoutTokenOptions = {}): Promise<string> {
  const all = {
    ...{ iss: madeBy, aud: 'countersign', iat: nowSeconds(), exp: nowSeconds() + 120 },
    ...{ jti: crypto.randomUUID(), events: { [event]: {} }, sub: 'sub-ada' },
    ...claims,
  }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(given)
    .setProtectedHeader({ alg: 'RS256', typ: 'logout+jwt', kid: 'main', ...head })
    .sign(by)
}

const sendToken = (token: string) => postForm(`${house.baseUrl}/logout/from/bank`, { logout_token: token })

test('a logout token without a session ends all of a person’s, and counts once', async () => {
  const browsers = [await signedIn(), await signedIn()]
  const token = await makeToken()
  const answer = await sendToken(token)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['cache-control'], 'no-store')
  for (const browser of browsers) assert.equal(await isSignedIn(browser), false)
  const later = await signedIn()
  assert.equal((await sendToken(token)).status, 400)
  assert.equal(await isSignedIn(later), true)
})

const wrong: Record<string, () => Promise<string>> = {
  'made for another application': () => makeToken({ claims: { aud: 'another' } }),
  'of another issuer': () => makeToken({ claims: { iss: 'https://login.example.org' } }),
  'of another type': () => makeToken({ head: { typ: 'JWT' } }),
  'with a nonce, which makes it an ID token': () => makeToken({ claims: { nonce: 'n' } }),
  'without an event': () => makeToken({ claims: { events: undefined } }),
  'with another event': () => makeToken({ claims: { events: { 'http://example.com/event': {} } } }),
  'with an event that is no object': () => makeToken({ claims: { events: { [event]: 'yes' } } }),
  'without a jti': () => makeToken({ claims: { jti: undefined } }),
  'that names neither person nor session': () => makeToken({ claims: { sub: undefined } }),
  'without its time': () => makeToken({ claims: { iat: undefined } }),
  'made long ago': () => makeToken({ claims: { iat: nowSeconds() - 600 } }),
  'made tomorrow': () => makeToken({ claims: { iat: nowSeconds() + 86_400, exp: nowSeconds() + 90_000 } }),
  'that has expired': () => makeToken({ claims: { exp: nowSeconds() - 60 } }),
  'signed with another key': () =>
    makeToken({ by: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey as typeof key }),
  'that nobody signed': async () => {
    const [, body] = (await makeToken()).split('.')
    return `${Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString('base64url')}.${body}.`
  },
  'that is none': async () => 'no token',
}

/** Nothing but its key could tell it from a right one. */
const keyed = ['signed with another key']

for (const [what, make] of Object.entries(wrong)) {
  test(`a logout token ${what} ends nothing`, async () => {
    const browser = await signedIn()
    const answer = await sendToken(await make())
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.json().error, 'invalid_request')
    assert.equal(await isSignedIn(browser), true)
  })
}

test('a logout token that names another person’s session ends nothing', async () => {
  const browser = await signedIn()
  const answer = await sendToken(await makeToken({ claims: { sub: 'sub-ben', sid: 'of nobody' } }))
  assert.equal(answer.status, 200)
  assert.equal(await isSignedIn(browser), true)
})

test('where a provider’s word ends all of a person’s sessions, a token that names one of them ends each, also without a subject', async () => {
  const reach = (ends: string) =>
    ask(db, `UPDATE identity_providers SET logout_ends = $1 WHERE name = 'bank'`, [ends])
  const sidOf = async () => {
    const select = `SELECT provider_sid AS sid FROM sessions WHERE provider_subject = 'sub-ada' LIMIT 1`
    return (await ask<{ sid: string }>(db, select))[0]!.sid
  }
  await reach('person')
  try {
    for (const sub of ['sub-ada', undefined]) {
      const browsers = [await signedIn(), await signedIn()]
      const other = await signedIn('sub-ben')
      assert.equal((await sendToken(await makeToken({ claims: { sub, sid: await sidOf() } }))).status, 200)
      for (const browser of browsers) assert.equal(await isSignedIn(browser), false)
      assert.equal(await isSignedIn(other), true)
    }
  } finally {
    await reach('session')
  }
})

test('whoever is half-way in when they are unlinked, or sign out at the provider, begins again', async () => {
  await makeCustomer(house, 'C-3')
  await ask(db, `UPDATE identity_providers SET strong_acr = '{}'`)
  const first = new Browser(house.baseUrl)
  await signInThere(first, upstream, 'sub-cle')
  const app = await setUpApp(house, first, -1)
  const start = async (there = new Browser(upstream.issuer)) => {
    house.clock.advance(second)
    const half = new Browser(house.baseUrl)
    const answer = await signInThere(half, upstream, 'sub-cle', { cookies: there })
    assert.match(pathOf(answer), /^\/login\/second/)
    return half
  }
  const there = new Browser(upstream.issuer)
  const ends: Record<string, () => Promise<unknown>> = {
    'is unlinked': () => unlinkByHand(db, bank, 'sub-cle', house.act()),
    'signs out there everywhere': async () => sendToken(await makeToken({ claims: { sub: 'sub-cle' } })),
    'signs out of that session there': () =>
      confirmThere(there, new URL(`${upstream.issuer}/session/end?client_id=countersign`)),
  }
  for (const [what, end] of Object.entries(ends)) {
    const half = await start(there)
    await end()
    assert.equal(await finish(half, app), false, what)
  }
  const half = await start()
  await sendToken(await makeToken({ claims: { sub: 'sub-cle', sid: 'another session' } }))
  assert.equal(await finish(half, app), true, 'another session of theirs is another')
})

async function finish(half: Browser, app: App): Promise<boolean> {
  await sendSecond(half, { code: app.code() })
  return isSignedIn(half)
}

test('what was taken is forgotten when it would no longer be believed', async () => {
  await sendToken(await makeToken())
  house.clock.advance(61 * minute)
  await upstream.keepTime()
  assert.ok((await removeDead(house.gateway.context)).logoutTokens > 0)
})

test('while what the provider says of itself cannot be used, it is told to send its logout token again, which then counts', async () => {
  const browser = await signedIn()
  const token = await makeToken()
  await ask(db, 'DELETE FROM provider_documents')
  await upstream.lie({ metadata: { jwks_uri: null } })
  const refused = await sendToken(token)
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '30'])
  assert.equal(await isSignedIn(browser), true)
  await upstream.lie(undefined)
  assert.equal((await sendToken(token)).status, 200)
  assert.equal(await isSignedIn(browser), false)
})

/** A provider that counts how often it is asked, and signs as the other one does. */
async function openCountedProvider() {
  const asked: string[] = []
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid: 'main', use: 'sig', alg: 'RS256' }
  const server = createServer((request, response) => {
    asked.push(request.url!)
    const { port } = server.address() as AddressInfo
    const issuer = `http://127.0.0.1:${port}`
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/a`,
      token_endpoint: `${issuer}/t`,
      jwks_uri: `${issuer}/keys`,
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.url === '/keys' ? { keys: [jwk] } : metadata))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    issuer: `http://127.0.0.1:${port}`,
    asked,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

test('for a token that cannot be right nobody is asked for a key; for others, each ten seconds at most, whatever key they name', async () => {
  house.clock.advance(minute)
  const counted = await openCountedProvider()
  try {
    await registerUpstream(house, counted, 'counted', { linkClaim: null })
    const post = (token: string) => postForm(`${house.baseUrl}/logout/from/counted`, { logout_token: token })
    madeBy = counted.issuer
    for (const [what, build] of Object.entries(wrong).filter(([what]) => !keyed.includes(what)))
      assert.equal((await post(await build())).status, 400, what)
    assert.equal((await post(`${await makeToken()}${'x'.repeat(8_192)}`)).status, 400)
    assert.deepEqual(counted.asked, [])
    assert.equal((await post(await makeToken())).status, 200)
    const keysAsked = () => counted.asked.filter((path) => path === '/keys').length
    assert.equal(keysAsked(), 1)
    const unknown = async () => post(await makeToken({ head: { kid: crypto.randomUUID() } }))
    for (const { status } of await Promise.all(Array.from({ length: 5 }, unknown))) assert.equal(status, 400)
    assert.equal(keysAsked(), 1)
    house.clock.advance(11 * second)
    for (const { status } of await Promise.all(Array.from({ length: 5 }, unknown))) assert.equal(status, 400)
    assert.equal(keysAsked(), 2)
  } finally {
    madeBy = upstream.issuer
    await counted.close()
  }
})

test('a network whose tokens are refused too often in a minute waits for the next', async () => {
  house.clock.advance(minute)
  for (let times = 0; times < 29; times++) await house.gateway.context.logoutFailures.count('127.0.0.1')
  assert.equal((await postForm(`${house.baseUrl}/logout/from/nobody`, { logout_token: 'x' })).status, 404)
  assert.equal((await sendToken(await makeToken())).status, 429)
  house.clock.advance(minute)
  assert.equal((await sendToken(await makeToken())).status, 200)
})
