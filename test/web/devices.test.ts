/**
 * Sign-ins and devices: every place where the account is open, recognisable, and closed at once by its owner
 * alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute, second } from '../../src/clock.ts'
import type { User } from '../../src/users/user.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { isSignedIn, sessionCookie, signInWith } from '../support/web.ts'

const house = await openHouse({ TRUST_PROXY: '127.0.0.1' })

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0'

async function signInFrom(user: User, userAgent: string, address = '192.0.2.7'): Promise<Browser> {
  const browser = new Browser(house.baseUrl)
  await signInWith(browser, user.username, {
    headers: { 'user-agent': userAgent, 'x-forwarded-for': address },
  })
  return browser
}

const devicesOf = async (browser: Browser) => (await browser.get('/account/devices')).text

test('a sign-in is shown with browser, system, address, first and last time; this device is told apart', async () => {
  const user = await house.makeUser()
  const there = await signInFrom(user, firefox)
  house.clock.advance(5 * minute)
  const here = await house.signIn(user)
  const page = await devicesOf(here)
  const [own, others] = page.split('<h2>Other devices</h2>')
  assert.doesNotMatch(own!, /Firefox/)
  assert.doesNotMatch(own!, /action="\/account\/devices\/close"/, 'this device is left by signing out')
  assert.match(
    others!,
    /<strong>Firefox on Linux<\/strong>[\s\S]*from 192\.0\.2\.7 · signed in <time[\s\S]*last active <time/,
  )
  house.clock.advance(2 * minute)
  await there.get('/account')
  assert.match(
    (await devicesOf(here)).split('Other devices')[1]!,
    /last active <time datetime="2026-03-02T10:07/,
  )
})

test('a confirmed session keeps the moment of its first sign-in', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const first = /signed in <time datetime="([^"]+)"/.exec(await devicesOf(browser))![1]
  house.clock.advance(7 * minute)
  await signInWith(browser, user.username, { path: '/login?confirm=1' })
  assert.equal(/signed in <time datetime="([^"]+)"/.exec(await devicesOf(browser))![1], first)
})

test('signing out one device ends it with its next request and leaves the others', async () => {
  const user = await house.makeUser()
  const here = await house.signIn(user)
  const kept = await signInFrom(user, 'curl/8.14.1')
  house.clock.advance(second)
  const ended = await signInFrom(user, firefox)
  const page = await here.get('/account/devices')
  const answer = await here.submit(page, '/account/devices/close', {})
  assert.equal(answer.location, '/account/devices')
  assert.equal(await isSignedIn(ended), false)
  assert.equal(await isSignedIn(kept), true)
  assert.equal(await isSignedIn(here), true)
  const [entry] = await findEntries(house.gateway.context.db, { actor: `user:${user.id}`, limit: 1 })
  assert.equal(entry!.action, 'session.closed')
  assert.deepEqual(entry!.details, { address: '192.0.2.7', userAgent: firefox })
  assert.equal(
    (await here.submit(page, '/account/devices/close', {})).status,
    303,
    'a second click is harmless',
  )
})

test('sign out everywhere else ends every other session, in the sandbox too, and keeps this one', async () => {
  const user = await house.makeUser()
  const here = await house.signIn(user)
  const others = [
    await house.signIn(user),
    await signInFrom(user, firefox),
    await house.signIn(user, 'sandbox'),
  ]
  const stranger = await house.signIn(await house.makeUser())
  assert.match(await devicesOf(here), /<span class="badge sandbox">Sandbox<\/span>/)
  await here.submit(await here.get('/account/devices'), '/account/devices/close/others', {})
  for (const browser of others) assert.equal(await isSignedIn(browser), false)
  assert.equal(await isSignedIn(here), true)
  assert.equal(await isSignedIn(stranger), true)
  assert.match(await devicesOf(here), /You are signed in nowhere else\./)
  const [entry] = await findEntries(house.gateway.context.db, { actor: `user:${user.id}`, limit: 1 })
  assert.deepEqual([entry!.action, entry!.details], ['session.others_closed', { sessions: 3 }])
})

test("another user's session cannot be seen or ended by its number", async () => {
  const [owner, stranger] = [await house.makeUser(), await house.makeUser()]
  const victim = await signInFrom(owner, firefox)
  const id = hiddenFields(await devicesOf(await house.signIn(owner)), '/account/devices/close').session!
  const attacker = await house.signIn(stranger)
  const page = await devicesOf(attacker)
  assert.doesNotMatch(page, /Firefox/)
  const { csrf } = hiddenFields(page, '/logout')
  const answer = await attacker.post('/account/devices/close', { csrf: csrf!, session: id })
  assert.equal(answer.location, '/account/devices', 'the same answer as for one that never was')
  assert.equal(await isSignedIn(victim), true)
  for (const session of ['', 'x', '-1', '1e3', '9'.repeat(16)]) {
    assert.equal((await attacker.post('/account/devices/close', { csrf: csrf!, session })).status, 400)
  }
})

test('what a browser says of itself cannot become markup', async () => {
  const user = await house.makeUser()
  await signInFrom(user, '<script>alert(1)</script> Firefox/1')
  const here = await house.signIn(user)
  for (const path of ['/account/devices', '/account/history']) {
    assert.doesNotMatch((await here.get(path)).text, /<script>/)
  }
})

test('sessions that have ended by themselves are not shown, and a page left open leads back after sign-in', async () => {
  const user = await house.makeUser()
  await signInFrom(user, firefox)
  house.clock.advance(20 * minute)
  const here = await house.signIn(user)
  const page = await here.get('/account/devices')
  house.clock.advance(11 * minute)
  await here.get('/account')
  assert.doesNotMatch(await devicesOf(here), /Firefox/)
  const before = sessionCookie(here)
  house.clock.advance(31 * minute)
  const late = await here.submit(page, '/account/devices/close/others', {})
  assert.equal(late.location, '/login?return=%2Faccount%2Fdevices')
  assert.equal(sessionCookie(here), before)
})
