/** Signing out: here and there, and here because of there (OpenID Connect Back-Channel Logout 1.0). */
import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { findEntries } from '../../src/audit/audit.ts'
import { minute, second } from '../../src/clock.ts'
import { removeDead } from '../../src/housekeeping.ts'
import { Browser, hiddenFields, postForm } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const { db } = house.gateway.context
const people = { 'sub-ada': { customer_id: 'C-1' }, 'sub-ben': { customer_id: 'C-2' } }
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
await registerUpstream(house, upstream, 'bank')
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
const nowSeconds = () => Math.floor(house.clock.now().getTime() / second)

interface Made {
  readonly claims?: Record<string, unknown>
  readonly head?: Record<string, unknown>
  readonly by?: typeof key
}

function makeToken({ claims = {}, head = {}, by = key }: Made = {}): Promise<string> {
  const all = {
    ...{ iss: upstream.issuer, aud: 'countersign', iat: nowSeconds(), exp: nowSeconds() + 120 },
    ...{ jti: crypto.randomUUID(), events: { [event]: {} }, sub: 'sub-ada' },
    ...claims,
  }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(given).setProtectedHeader({ alg: 'RS256', typ: 'logout+jwt', kid: 'main', ...head }).sign(by)
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

test('what was taken is forgotten when it would no longer be believed', async () => {
  await sendToken(await makeToken())
  house.clock.advance(61 * minute)
  await upstream.keepTime()
  assert.ok((await removeDead(house.gateway.context)).logoutTokens > 0)
})
