/** A session is born at sign-in, lives in one cookie, and ends when it should. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hour, minute, second } from '../../src/clock.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { setPassword, setUserStatus } from '../../src/users/user.ts'
import { Browser } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import {
  guess,
  isSignedIn,
  openConsent,
  pathOf,
  sessionCookie,
  signInWith,
  startRequest,
} from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient()

const cookieName = 'countersign-live-session'

/** Another browser that holds a copy of the session cookie. */
function browserWith(session: string, origin = house.baseUrl): Browser {
  const browser = new Browser(origin)
  browser.cookies.set(cookieName, session)
  return browser
}

test('signing in opens the account page and names the user', async () => {
  const browser = new Browser(house.baseUrl)
  const user = await house.makeUser()
  const away = await browser.get('/account/api')
  assert.equal(away.status, 303)
  assert.equal(away.location, '/login?return=%2Faccount%2Fapi')
  const answer = await signInWith(browser, user.username.toUpperCase(), { path: away.location! })
  assert.equal(answer.status, 303)
  assert.equal(answer.location, '/account/api')
  assert.match((await browser.get('/account/api')).text, /<span>Ada Holder<\/span>/)
})

test('a visitor who is signed in is not asked again', async () => {
  const browser = await house.signIn(await house.makeUser())
  assert.equal((await browser.get('/login')).location, '/account')
  assert.equal((await browser.get('/')).location, '/account')
})

test('a session id that was known before the sign-in is never adopted', async () => {
  const user = await house.makeUser()
  for (const planted of [
    issueToken('session', 'live').text,
    'x',
    '',
    sessionCookie(await house.signIn(user)),
  ]) {
    const browser = browserWith(planted)
    const answer = await signInWith(browser, user.username, { path: '/login?confirm=1' })
    assert.equal(answer.status, 303)
    assert.notEqual(sessionCookie(browser), planted)
    assert.equal(await isSignedIn(browser), true)
    assert.equal(await isSignedIn(browserWith(planted)), false, 'the planted id opens nothing')
  }
})

test('signing in over the session of somebody else ends that session and shows nothing of it', async () => {
  const [attacker, victim] = await Promise.all([house.makeUser(), house.makeUser('victim')])
  const planted = await house.signIn(attacker)
  const browser = browserWith(sessionCookie(planted))
  await signInWith(browser, victim.username, { path: '/login?confirm=1' })
  assert.equal(await isSignedIn(planted), false)
  assert.equal(await isSignedIn(browser), true)
})

test('confirming the password for trade gives the session a new id and ends the old one', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const before = sessionCookie(browser)
  house.clock.advance(5 * minute + second)
  const path = await startRequest(browser, client, { scope: 'trade' })
  assert.match((await browser.get(path)).text, /Confirm it is you/)
  const answer = await signInWith(browser, user.username, { path })
  assert.match(answer.location!, /^\/consent\?request=/)
  assert.notEqual(sessionCookie(browser), before)
  assert.equal((await browser.get(answer.location!)).status, 200)
  assert.equal(await isSignedIn(browserWith(before)), false)
})

test('a sign-in that fails changes nothing of the session there is', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const before = sessionCookie(browser)
  const answer = await signInWith(browser, user.username, {
    path: '/login?confirm=1',
    password: 'not the right one',
  })
  assert.equal(answer.status, 401)
  assert.equal(answer.headers['set-cookie'], undefined)
  assert.equal(sessionCookie(browser), before)
  assert.equal(await isSignedIn(browser), true)
})

test('every cookie is HttpOnly, SameSite=Lax, for the whole site and for this host alone', async () => {
  const { username } = await house.makeUser()
  const browser = new Browser(house.baseUrl)
  const page = await browser.get('/login')
  const answer = await browser.submit(page, '/login', { username, password })
  const set = [page, answer].flatMap(({ headers }) => [headers['set-cookie'] ?? []].flat())
  assert.deepEqual(names(set), ['live-device', 'live-session', 'live-visit', 'live-visit'])
  for (const line of set) {
    assert.match(line, /; HttpOnly(;|$)/)
    assert.match(line, /; SameSite=Lax(;|$)/)
    assert.match(line, /; Path=\/(;|$)/)
    assert.doesNotMatch(line, /; Domain=/i)
  }
})

const names = (set: string[]) => set.map((line) => line.split('=')[0]!.replace('countersign-', '')).sort()

test('a session without use ends after 30 minutes', async () => {
  const user = await house.makeUser()
  const [used, unused] = await Promise.all([house.signIn(user), house.signIn(user)])
  house.clock.advance(30 * minute - second)
  assert.equal(await isSignedIn(used), true)
  house.clock.advance(second)
  assert.equal(await isSignedIn(unused), false)
  house.clock.advance(29 * minute)
  assert.equal(await isSignedIn(used), true, 'use keeps it alive')
})

test('a session ends after 12 hours, however much it is used', async () => {
  const browser = await house.signIn(await house.makeUser())
  for (let spent = 0; spent < 12 * hour - 20 * minute; spent += 20 * minute) {
    house.clock.advance(20 * minute)
    assert.equal(await isSignedIn(browser), true)
  }
  house.clock.advance(20 * minute - second)
  assert.equal(await isSignedIn(browser), true)
  house.clock.advance(second)
  assert.equal(await isSignedIn(browser), false)
})

test('signing out ends the session on the server', async () => {
  const user = await house.makeUser()
  const [browser, elsewhere] = await Promise.all([house.signIn(user), house.signIn(user)])
  const copy = browserWith(sessionCookie(browser))
  const answer = await browser.submit(await browser.get('/account'), '/logout', {})
  assert.equal(answer.status, 303)
  assert.equal(answer.location, '/login')
  assert.equal(browser.cookies.has(cookieName), false)
  assert.equal(await isSignedIn(copy), false)
  assert.equal(await isSignedIn(elsewhere), true, 'only this session')
})

test('a new password ends every session and is the only one that signs in', async () => {
  const user = await house.makeUser()
  const browsers = await Promise.all([house.signIn(user), house.signIn(user), house.signIn(user, 'sandbox')])
  const { db, passwords } = house.gateway.context
  await setPassword(db, passwords, user, 'a different password', house.act())
  for (const browser of browsers) assert.equal(await isSignedIn(browser), false)
  assert.equal((await guess(house, user.username, password)).status, 401)
  assert.equal((await guess(house, user.username, 'a different password')).status, 303)
})

test('a user who is disabled is signed out everywhere, and stays so when enabled again', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { db } = house.gateway.context
  await setUserStatus(db, user, 'disabled', house.act())
  assert.equal(await isSignedIn(browser), false)
  await setUserStatus(db, user, 'active', house.act())
  assert.equal(await isSignedIn(browser), false)
})

test('a session of one environment opens nothing in the other', async () => {
  const live = await house.signIn(await house.makeUser())
  const sandbox = new Browser(house.sandboxUrl)
  for (const name of [cookieName, 'countersign-sandbox-session'])
    sandbox.cookies.set(name, sessionCookie(live))
  assert.equal(await isSignedIn(sandbox), false)
})

test('a session ends in the middle of a consent without granting anything', async () => {
  const browser = await house.signIn(await house.makeUser())
  const page = await openConsent(browser, client)
  browser.cookies.delete(cookieName)
  const answer = await browser.submit(page, '/consent', { decision: 'approve' })
  assert.equal(answer.status, 303)
  assert.match(pathOf(answer), /^\/login\?request=/)
})
