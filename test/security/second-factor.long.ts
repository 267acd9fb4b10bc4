/** Whoever knows the password, and nothing else, tries to get past the second factor. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { generateKey, openVault, parseKey } from '../../src/crypto/vault.ts'
import { reseal } from '../../src/database/reseal.ts'
import { closeEverySession, closeOtherSessions, findSession, type Session } from '../../src/users/session.ts'
import { sealedTotpSecrets, useTotpCode } from '../../src/users/totp.ts'
import { setPassword, setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { dumpTables } from '../support/oauth.ts'
import {
  makeGuardedUser,
  sendSecond,
  setUpApp,
  startSignIn,
  wrongCode,
  wrongCodes,
} from '../support/second-factor.ts'
import { isSignedIn, openConsent, pathOf, signInWith, startRequest } from '../support/web.ts'

const house = await openHouse()
const strict = await openHouse({ REQUIRE_SECOND_FACTOR_FOR_TRADE: 'true' })
const client = await strict.makeClient()

const stepCookie = 'countersign-live-step'

test('a code counts once: one that was seen over a shoulder is refused, also by another session and for what it set up', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const app = await setUpApp(house, browser)
  assert.equal(
    (await sendSecond(await startSignIn(house, user), { code: app.code() })).status,
    401,
    'used to set it up',
  )
  house.clock.advance(30_000)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 303)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 401)
  assert.equal(
    (await sendSecond(await startSignIn(house, user), { code: app.code(-1) })).status,
    401,
    'an older one',
  )
})

test('of four sign-ins at once with one code, and with one recovery code, one succeeds', async () => {
  const { user, app } = await makeGuardedUser(house)
  for (const fields of [{ code: app.code() }, { recovery: app.recoveryCodes[0]! }]) {
    const browsers = await Promise.all(Array.from({ length: 4 }, () => startSignIn(house, user)))
    const answers = await Promise.all(browsers.map((browser) => sendSecond(browser, fields)))
    assert.equal(answers.filter(({ status }) => status === 303).length, 1)
    house.clock.advance(16 * minute)
  }
})

test('after five wrong codes the right one is refused too, whatever the password does meanwhile', async () => {
  const { user, app } = await makeGuardedUser(house)
  for (let time = 0; time < 5; time++) {
    const browser = await startSignIn(house, user)
    assert.equal((await sendSecond(browser, { code: wrongCode(app) })).status, 401)
  }
  const browser = await startSignIn(house, user)
  const right = await sendSecond(browser, { code: app.code() })
  const wrong = await sendSecond(browser, { code: wrongCode(app) })
  assert.equal(right.status, 401)
  const neutral = (text: string) => text.replaceAll(/value="[^"]*"|request <code>[^<]*/g, '')
  assert.equal(neutral(right.text), neutral(wrong.text), 'the same answer')
  assert.equal((await sendSecond(browser, { recovery: app.recoveryCodes[0]! })).status, 401)
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'session',
  })
  const told = entries.filter(({ details }) => details.at === 'second step').map(({ action }) => action)
  assert.deepEqual(told, ['session.throttled', ...Array.from({ length: 4 }, () => 'session.refused')])
  house.clock.advance(2 * minute)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 303)
})

test('of a hundred parallel guesses five are looked at', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = await startSignIn(house, user)
  const fields = hiddenFields((await browser.get('/login/second')).text, '/login/second')
  const guesses = wrongCodes(app, 100).map((code) => browser.post('/login/second', { ...fields, code }))
  for (const { status } of await Promise.all(guesses)) assert.equal(status, 401)
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'session',
    limit: 200,
  })
  assert.equal(entries.filter(({ details }) => details.at === 'second step').length, 5)
})

test('somebody who fails from elsewhere does not lock out a device that is known', async () => {
  const { user, app } = await makeGuardedUser(house)
  const known = await startSignIn(house, user)
  assert.equal((await sendSecond(known, { code: app.code() })).status, 303)
  for (let time = 0; time < 7; time++)
    await sendSecond(await startSignIn(house, user), { code: wrongCode(app) })
  house.clock.advance(30_000)
  await startSignIn(house, user, known)
  assert.equal((await sendSecond(known, { code: app.code() })).status, 303)
})

test('the second step cannot be skipped: half-way opens no page, and asks again for what is missing', async () => {
  const { user } = await makeGuardedUser(house)
  const browser = await startSignIn(house, user)
  for (const path of [
    '/account',
    '/account/api',
    '/account/devices',
    '/account/security',
    '/account/history',
  ]) {
    assert.match((await browser.get(path)).location!, /^\/login\?/, path)
  }
  browser.cookies.set('countersign-live-session', browser.cookies.get(stepCookie)!)
  assert.equal(await isSignedIn(browser), false, 'the note is no session')
  assert.match((await new Browser(house.baseUrl).get('/login/second')).location!, /^\/login\?/)
})

test('a note of half a sign-in is worth nothing when it is old, changed, of the other site, or the password has changed', async () => {
  const { user, app } = await makeGuardedUser(house)
  const { db, passwords } = house.gateway.context
  const browser = await startSignIn(house, user)
  const note = browser.cookies.get(stepCookie)!
  const tried = async (change: (browser: Browser) => void, url = house.baseUrl) => {
    const other = new Browser(url)
    change(other)
    return (await other.get('/login/second')).status
  }
  assert.equal(await tried((each) => each.cookies.set(stepCookie, note)), 200)
  const changed = `${note.slice(0, -2)}${note.endsWith('AA') ? 'BB' : 'AA'}`
  assert.equal(await tried((each) => each.cookies.set(stepCookie, changed)), 303)
  assert.equal(await tried((each) => each.cookies.set(stepCookie, 'x')), 303)
  assert.equal(
    await tried((each) => each.cookies.set('countersign-sandbox-step', note), house.sandboxUrl),
    303,
  )
  house.clock.advance(5 * minute)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  assert.equal(await isSignedIn(browser), false, 'too old')
  await startSignIn(house, user, browser)
  await setPassword(db, passwords, user, 'a different password', house.act())
  await sendSecond(browser, { code: app.code() })
  assert.equal(await isSignedIn(browser), false)
  await setPassword(db, passwords, user, password, house.act())
  await startSignIn(house, user, browser)
  await setUserStatus(db, user, 'disabled', house.act())
  await sendSecond(browser, { code: app.code() })
  assert.equal(await isSignedIn(browser), false)
})

test("another user's code, or their recovery code, does not help", async () => {
  const [victim, attacker] = [await makeGuardedUser(house), await makeGuardedUser(house)]
  const browser = await startSignIn(house, victim.user)
  assert.equal((await sendSecond(browser, { code: attacker.app.code() })).status, 401)
  assert.equal((await sendSecond(browser, { recovery: attacker.app.recoveryCodes[0]! })).status, 401)
})

test('what was known to the login page is worth nothing at the second step, nor its token after the sign-in', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = new Browser(house.baseUrl)
  const login = hiddenFields((await browser.get('/login')).text, '/login')
  await browser.post('/login', { ...login, username: user.username, password })
  const visit = browser.cookies.get('countersign-live-visit')
  assert.equal((await browser.post('/login/second', { csrf: login.csrf!, code: app.code() })).status, 403)
  const second = hiddenFields((await browser.get('/login/second')).text, '/login/second')
  assert.equal(browser.cookies.get('countersign-live-visit'), visit)
  assert.equal((await browser.post('/login/second', { ...second, code: app.code() })).status, 303)
  assert.equal((await browser.post('/logout', { csrf: second.csrf! })).status, 403)
})

test('a wrong password, a right one and an unknown user take the same way until the password is right', async () => {
  const { user } = await makeGuardedUser(house)
  for (const username of [user.username, 'nobody-at-all']) {
    const answer = await signInWith(new Browser(house.baseUrl), username, {
      password: 'not the right password',
    })
    assert.equal(answer.status, 401)
    assert.doesNotMatch(answer.text, /second|code/i)
  }
})

test('a session that the password alone opened cannot be kept by somebody else: it ends with the set-up', async () => {
  const user = await house.makeUser()
  const thief = await house.signIn(user)
  await setUpApp(house, await house.signIn(user))
  assert.equal(await isSignedIn(thief), false)
})

test('a dump of the database holds neither the secret of an app nor a recovery code', async () => {
  const { app } = await makeGuardedUser(house)
  const text = [...(await dumpTables(house)).values()].flat().join('\n')
  assert.equal(text.includes(app.secret), false)
  for (const code of app.recoveryCodes) {
    assert.equal(text.includes(code), false)
    assert.equal(text.includes(code.replaceAll('-', '')), false)
  }
})

test('keys rotate under the secrets of apps as under others, and their codes go on', async () => {
  const { user, app } = await makeGuardedUser(house)
  const { db, vault } = house.gateway.context
  const keys = [generateKey(), parseKey(house.settings.SECRET_KEY!)!]
  const rotated = openVault({ kind: 'environment', keys })
  assert.ok((await reseal(db, rotated, sealedTotpSecrets, () => {})) > 0)
  assert.equal(
    await useTotpCode(db, vault, user.id, app.code(), house.clock.now()),
    false,
    'the old key opens nothing',
  )
  assert.equal(await useTotpCode(db, rotated, user.id, app.code(), house.clock.now()), true)
  await reseal(db, openVault({ kind: 'environment', keys: keys.toReversed() }), sealedTotpSecrets, () => {})
})

test('somebody half-way can still cancel, and the application hears that access was denied', async () => {
  const { user } = await makeGuardedUser(strict)
  const browser = new Browser(strict.baseUrl)
  const half = await signInWith(browser, user.username, { path: await startRequest(browser, client) })
  const canceled = await browser.submit(await browser.get(half.location!), '/login/cancel', {})
  assert.equal(new URL(canceled.location!).searchParams.get('error'), 'access_denied')
  assert.equal(browser.cookies.has(stepCookie), false)
})

test('where the brokerage demands it, trade is approved only with a second factor given minutes ago', async () => {
  const { user, browser, app } = await makeGuardedUser(strict)
  assert.equal((await openConsent(browser, client, { scope: 'trade' })).status, 200)
  const plain = await strict.signIn(await strict.makeUser())
  assert.equal(
    (await openConsent(plain, client, { scope: 'read write' })).status,
    200,
    'other scopes do not need it',
  )
  strict.clock.advance(6 * minute)
  const path = await startRequest(browser, client, { scope: 'trade' })
  assert.match((await browser.get(path)).text, /Confirm it is you/)
  const half = await signInWith(browser, user.username, { path })
  assert.match(half.location!, /^\/login\/second\?request=/)
  const page = await browser.get(half.location!)
  const done = await browser.submit(page, '/login/second', { code: app.code() })
  assert.match(done.location!, /^\/consent\?request=/)
  assert.equal((await browser.get(done.location!)).status, 200)
})

test('where the brokerage demands it, nobody without a second factor approves trade, not by sending the form either', async () => {
  const user = await strict.makeUser()
  const browser = await strict.signIn(user)
  const login = await browser.get(await startRequest(browser, client, { scope: 'trade' }))
  const page = await browser.get(pathOf(login))
  assert.equal(page.status, 403)
  assert.match(page.text, /Set up two-factor sign-in first/)
  const read = await openConsent(browser, client, { scope: 'read' })
  const sealed = new URL(login.location!, strict.baseUrl).searchParams.get('request')!
  const mixed = await browser.submit(read, '/consent', { request: sealed, decision: 'approve' })
  assert.equal(mixed.status, 403)
  const app = await setUpApp(strict, browser)
  assert.equal((await browser.get(pathOf(login))).location, `/login?request=${sealed}`, 'it is asked for')
  strict.clock.advance(30_000)
  await startSignIn(strict, user, browser)
  await sendSecond(browser, { code: app.code() })
  const after = await browser.get(pathOf(login))
  assert.equal(after.status, 200, 'the request waited')
  const approved = await browser.submit(after, '/consent', { decision: 'approve' })
  assert.match(approved.location!, /[?&]code=/)
})

test('whoever is locked, or gets another password, while the second step is taken begins again', async () => {
  const { db, passwords } = house.gateway.context
  for (const change of ['password', 'lock'] as const) {
    const { user, app } = await makeGuardedUser(house)
    const browser = await startSignIn(house, user)
    const [, late] = await runBehind(
      db,
      (first) =>
        change === 'lock'
          ? setUserStatus(first, user, 'disabled', house.act())
          : setPassword(first, passwords, user, 'another password of theirs', house.act()),
      () => sendSecond(browser, { code: app.code() }),
    )
    assert.equal(late.status, 'fulfilled')
    assert.equal(await isSignedIn(browser), false, change)
  }
})

test('whatever ends the sessions of somebody ends half a sign-in of theirs as well', async () => {
  const { db } = house.gateway.context
  const lock = 'UPDATE users SET status = $2 WHERE id = $1'
  const ends: Record<string, (user: User, session: Session) => Promise<unknown>> = {
    'an operator locks and unlocks them': async (user) => {
      for (const status of ['disabled', 'active'] as const) await setUserStatus(db, user, status, house.act())
    },
    'their source locks and unlocks them': async (user) => {
      for (const status of ['disabled', 'active']) await ask(db, lock, [user.id, status])
    },
    'an operator closes all of them': (user) => closeEverySession(db, user, house.act()),
    'they close all others': (_, session) => closeOtherSessions(db, session, house.act()),
  }
  for (const [what, end] of Object.entries(ends)) {
    const { user, app, browser } = await makeGuardedUser(house)
    const text = browser.cookies.get('countersign-live-session')
    const session = (await findSession(db, text, 'live', house.clock.now()))!
    const half = await startSignIn(house, user)
    await end(user, session)
    const answer = await sendSecond(half, { code: app.code() })
    assert.match(answer.location!, /^\/login(\?|$)/, what)
    assert.equal(await isSignedIn(half), false, what)
    await startSignIn(house, user, half)
    await sendSecond(half, { code: app.code() })
    assert.equal(await isSignedIn(half), true, `${what}, and they begin again`)
  }
})
