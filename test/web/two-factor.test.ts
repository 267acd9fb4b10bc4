/**
 * Two-factor sign-in by authenticator app and recovery codes: set up, asked for at every sign-in, removed,
 * reset.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { resetSecondFactor } from '../../src/users/second-factor.ts'
import { assertAnswered } from '../support/answers.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import {
  makeApp,
  makeGuardedUser,
  readRecoveryCodes,
  readSecret,
  sendSecond,
  setUpApp,
  startSignIn,
} from '../support/second-factor.ts'
import { isSignedIn, sessionCookie, signInWith } from '../support/web.ts'

const house = await openHouse()

const actionsOf = async (userId: string, limit = 3) =>
  (await findEntries(house.gateway.context.db, { subject: `user:${userId}`, limit })).map(
    ({ action }) => action,
  )

test('setting up an app shows ten recovery codes once, renews this session and ends every other', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const others = [await house.signIn(user), await house.signIn(user, 'sandbox')]
  const before = sessionCookie(browser)
  const app = await setUpApp(house, browser)
  assert.equal(new Set(app.recoveryCodes).size, 10)
  assert.notEqual(sessionCookie(browser), before)
  assert.equal(await isSignedIn(browser), true)
  for (const other of others) assert.equal(await isSignedIn(other), false)
  const page = await browser.get('/account/security')
  assert.match(page.text, /Two-factor sign-in <span class="badge">on<\/span>/)
  assert.match(page.text, /10 are left/)
  for (const code of app.recoveryCodes) assert.equal(page.text.includes(code), false)
  assert.deepEqual(await actionsOf(user.id, 2), ['recovery_codes.made', 'second_factor.added'])
})

test('the picture says the same as the key, and a wrong code turns nothing on and keeps the picture', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = await browser.get('/account/security/app')
  assert.match(page.text, /<svg class="qr" [^>]*role="img" aria-label="QR code for your authenticator app"/)
  const secret = readSecret(page)
  assert.match(page.text, new RegExp(`href="otpauth://totp/[^"]*secret=${secret}`))
  for (const code of ['', '000000', 'abcdef', makeApp(house, secret).code(3)]) {
    const answer = await browser.submit(page, '/account/security/app', { code })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /<p class="problem" id="code-problem">That is not the code/)
    assert.equal(readSecret(answer), secret)
  }
  assert.match((await browser.get('/account/security')).text, /badge off">off/)
})

test('an offer is good for its own user and for half an hour', async () => {
  const [one, other] = [
    await house.signIn(await house.makeUser()),
    await house.signIn(await house.makeUser()),
  ]
  const page = await one.get('/account/security/app')
  const offer = /name="offer" value="([^"]+)"/.exec(page.text)![1]!
  const code = makeApp(house, readSecret(page)).code()
  const foreign = await other.submit(await other.get('/account/security/app'), '/account/security/app', {
    offer,
    code,
  })
  assert.equal(foreign.location, '/account/security/app')
  assert.match((await other.get('/account/security')).text, /badge off">off/)
})

test('a second submission of the set-up changes nothing', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const [first, second] = [
    await browser.get('/account/security/app'),
    await browser.get('/account/security/app'),
  ]
  const submit = (page: typeof first) =>
    browser.submit(page, '/account/security/app', { code: makeApp(house, readSecret(page)).code() })
  assert.equal((await submit(first)).status, 200)
  const again = await submit(second)
  assert.equal(
    again.location,
    '/login?return=%2Faccount%2Fsecurity%2Fapp&confirm=1',
    'its page asks for the factor',
  )
})

test('who has an app is not offered another', async () => {
  const { browser } = await makeGuardedUser(house)
  assert.equal((await browser.get('/account/security/app')).location, '/account/security')
})

test('signing in takes the password, then a code, and leads to where one was going', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = new Browser(house.baseUrl)
  const half = await signInWith(browser, user.username, { path: '/login?return=/account/devices' })
  assert.equal(half.location, '/login/second?return=%2Faccount%2Fdevices')
  assert.equal(browser.cookies.has('countersign-live-session'), false)
  const page = await browser.get(half.location!)
  assert.match(page.text, /autocomplete="one-time-code"/)
  const answer = await browser.submit(page, '/login/second', { code: app.code() })
  assert.equal(answer.location, '/account/devices')
  assert.equal(await isSignedIn(browser), true)
  assert.equal(browser.cookies.has('countersign-live-step'), false)
  const [entry] = await findEntries(house.gateway.context.db, { actor: `user:${user.id}`, limit: 1 })
  assert.deepEqual([entry!.action, entry!.details.secondFactor], ['session.opened', 'authenticator app'])
  assert.match((await browser.get('/account/history')).text, /with authenticator app/)
})

test('the code before and the one after count, and none further away', async () => {
  const { user, app } = await makeGuardedUser(house)
  house.clock.advance(10 * minute)
  const browser = await startSignIn(house, user)
  for (const steps of [-2, 2])
    assert.equal((await sendSecond(browser, { code: app.code(steps) })).status, 401)
  assert.equal((await sendSecond(browser, { code: app.code(-1) })).status, 303)
  assert.equal(
    (
      await sendSecond(await startSignIn(house, user), {
        code: ` ${app.code(1).slice(0, 3)} ${app.code(1).slice(3)} `,
      })
    ).status,
    303,
  )
})

test('a recovery code signs in once, however it is typed', async () => {
  const { user, app } = await makeGuardedUser(house)
  const [code] = app.recoveryCodes as [string]
  const typed = code.toUpperCase().replaceAll('-', ' ')
  const browser = await startSignIn(house, user)
  assert.equal((await sendSecond(browser, { recovery: typed })).status, 303)
  assert.match((await browser.get('/account/security')).text, /9 are left/)
  const again = await sendSecond(await startSignIn(house, user), { recovery: code })
  assert.equal(again.status, 401)
  assert.match(again.text, /id="recovery-problem">That recovery code is not right/)
})

test('new recovery codes replace all that there were', async () => {
  const { user, browser, app } = await makeGuardedUser(house)
  const page = await browser.submit(await browser.get('/account/security'), '/account/security/recovery', {})
  const fresh = readRecoveryCodes(page)
  assert.equal(fresh.length, 10)
  assert.equal(
    (await sendSecond(await startSignIn(house, user), { recovery: app.recoveryCodes[0]! })).status,
    401,
  )
  assert.equal((await sendSecond(await startSignIn(house, user), { recovery: fresh[0]! })).status, 303)
})

test('setting up, removing and new recovery codes need a sign-in at most five minutes old, with both factors', async () => {
  const { user, browser, app } = await makeGuardedUser(house)
  const page = await browser.get('/account/security')
  house.clock.advance(6 * minute)
  for (const action of ['/account/security/app/remove', '/account/security/recovery']) {
    const late = await browser.submit(page, action, {})
    assert.equal(late.location, '/login?return=%2Faccount%2Fsecurity&confirm=1')
  }
  assert.match((await browser.get('/account/security')).text, /badge">on/)
  await startSignIn(house, user, browser)
  const stillOld = await browser.submit(
    await browser.get('/account/security'),
    '/account/security/app/remove',
    {},
  )
  assert.match(stillOld.location!, /^\/login/, 'the password alone is not enough')
  const before = sessionCookie(browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).location, '/account')
  assert.notEqual(sessionCookie(browser), before)
  const removed = await browser.submit(
    await browser.get('/account/security'),
    '/account/security/app/remove',
    {},
  )
  assert.equal((await assertAnswered(browser, removed)).link, '/account/security/app')
  assert.match((await browser.get('/account/security')).text, /badge off">off/)
  assert.equal((await actionsOf(user.id, 1))[0], 'second_factor.removed')
  const plain = await house.signIn(user)
  assert.equal(await isSignedIn(plain), true)
  const stale = await house.signIn(await house.makeUser())
  house.clock.advance(6 * minute)
  assert.equal(
    (await stale.get('/account/security/app')).location,
    '/login?return=%2Faccount%2Fsecurity%2Fapp&confirm=1',
  )
})

test('an operator resets what was lost: every session ends and the password signs in again', async () => {
  const { user, browser } = await makeGuardedUser(house)
  await resetSecondFactor(house.gateway.context.db, user, house.act())
  assert.equal(await isSignedIn(browser), false)
  const fresh = await house.signIn(user)
  assert.equal(await isSignedIn(fresh), true)
  assert.match((await fresh.get('/account/history')).text, /The brokerage reset your two-factor sign-in/)
})

test('the sandbox asks for the same second factor', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = new Browser(house.sandboxUrl)
  await startSignIn(house, user, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  assert.equal(await isSignedIn(browser), true)
})
