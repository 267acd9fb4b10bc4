/** Passkeys as a second factor: added, used, named, removed; and every answer that is not one. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { resetSecondFactor } from '../../src/users/second-factor.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { assertAnswered } from '../support/answers.ts'
import { ask } from '../support/ask.ts'
import { Authenticator, addKey, readOptions, sendKey, signInWithKey } from '../support/authenticator.ts'
import { type Answer, Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { makeGuardedUser, readRecoveryCodes, sendSecond, startSignIn } from '../support/second-factor.ts'
import { isSignedIn, sessionCookie } from '../support/web.ts'

const house = await openHouse({ HOST: 'localhost' })

async function makeKeyHolder(name?: string) {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const key = new Authenticator(house.baseUrl)
  const added = await addKey(browser, key, {}, name)
  assert.equal(added.status, 200, added.text)
  await confirm(user, browser, key)
  return { user, browser, key, recoveryCodes: readRecoveryCodes(added) }
}

/** Setting a key up proves nothing; with this, the session has both proofs. Its counter still says 0. */
async function confirm(user: User, browser: Browser, key: Authenticator): Promise<void> {
  await startSignIn(house, user, browser)
  assert.equal((await sendKey(browser, key, { counter: 0 })).status, 303)
}

test('the first passkey shows recovery codes once, renews the session and ends every other', async () => {
  const user = await house.makeUser()
  const [browser, other] = [await house.signIn(user), await house.signIn(user)]
  const before = sessionCookie(browser)
  const key = new Authenticator(house.baseUrl)
  const added = await addKey(browser, key, {}, 'Blue key')
  assert.equal(readRecoveryCodes(added).length, 10)
  assert.notEqual(sessionCookie(browser), before)
  assert.equal(await isSignedIn(other), false)
  const page = (await browser.get('/account/security')).text
  assert.match(page, /<strong>Blue key<\/strong> <span class="badge">Passkey<\/span>/)
  await confirm(user, browser, key)
  const second = await addKey(browser, new Authenticator(house.baseUrl), {}, 'Red key')
  assert.match((await assertAnswered(browser, second)).text, /“Red key” is added/)
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'second_factor',
  })
  assert.deepEqual(
    entries.map(({ details }) => details.factor),
    ['passkey “Red key”', 'passkey “Blue key”'],
  )
})

test('a passkey signs in after the password, and its use is told', async () => {
  const { user, key } = await makeKeyHolder()
  const browser = await startSignIn(house, user)
  assert.equal((await sendKey(browser, key)).location, '/account')
  assert.equal(await isSignedIn(browser), true)
  assert.match((await browser.get('/account/history')).text, /with passkey/)
  assert.doesNotMatch((await browser.get('/account/security')).text, /Passkey<\/span>[\s\S]*?last used never/)
  assert.equal((await sendKey(await startSignIn(house, user), key)).status, 303)
})

test('an authenticator without a counter signs in again and again', async () => {
  const { user, key } = await makeKeyHolder()
  for (let time = 0; time < 2; time++) {
    assert.equal((await sendKey(await startSignIn(house, user), key, { counter: 0 })).status, 303)
  }
})

test('beside an app, a passkey and a code are each enough', async () => {
  const { user, browser, app } = await makeGuardedUser(house)
  const key = new Authenticator(house.baseUrl)
  assert.equal((await addKey(browser, key)).location, '/account/security')
  assert.equal((await sendKey(await startSignIn(house, user), key)).status, 303)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 303)
  await browser.submit(await browser.get('/account/security'), '/account/security/app/remove', {})
  const half = await startSignIn(house, user)
  assert.doesNotMatch((await half.get('/login/second')).text, /Code from your authenticator app/)
  assert.match(
    (await browser.get('/account/security')).text,
    /10 are left/,
    'recovery codes stay while a factor does',
  )
})

test('with the last passkey its recovery codes go, and the password is enough again', async () => {
  const { user, browser } = await makeKeyHolder()
  const page = await browser.get('/account/security')
  const removed = await browser.submit(page, '/account/security/passkey/remove', {})
  assert.equal((await assertAnswered(browser, removed)).link, '/account/security/passkey')
  assert.match((await browser.get('/account/security')).text, /badge off">off/)
  assert.equal(await isSignedIn(await house.signIn(user)), true)
  assert.equal(
    (await browser.submit(page, '/account/security/passkey/remove', {})).status,
    303,
    'a second click',
  )
})

test('adding and removing need a fresh sign-in; a name is needed', async () => {
  const { browser } = await makeKeyHolder()
  const page = await browser.get('/account/security')
  const setup = await browser.get('/account/security/passkey')
  const unnamed = await browser.submit(setup, '/account/security/passkey', { name: ' ', credential: '{}' })
  assert.equal(unnamed.status, 400)
  assert.match(unnamed.text, /id="name-problem">It must have 1 to 100 characters/)
  const hidden = await browser.submit(setup, '/account/security/passkey', {
    name: 'My \u202Ekey',
    credential: '{}',
  })
  assert.match(hidden.text, /id="name-problem">It must not contain control characters/)
  house.clock.advance(6 * minute)
  assert.match((await browser.get('/account/security/passkey')).location!, /^\/login\?.*confirm=1$/)
  assert.match((await browser.submit(page, '/account/security/passkey/remove', {})).location!, /confirm=1$/)
})

test('an operator resets passkeys too', async () => {
  const { user } = await makeKeyHolder()
  await resetSecondFactor(house.gateway.context.db, user, house.act())
  assert.equal(await isSignedIn(await house.signIn(user)), true)
})

test('a user has ten passkeys at most', async () => {
  const { browser } = await makeKeyHolder()
  for (let made = 1; made < 10; made++) {
    assert.equal((await addKey(browser, new Authenticator(house.baseUrl))).status, 303)
  }
  const full = await browser.get('/account/security/passkey')
  assert.match(full.text, /as many as there may be/)
})

const lies = {
  'another origin': { origin: 'https://evil.example' },
  'another port of this host': { origin: 'http://localhost:1' },
  'another host': { host: 'evil.example' },
  'a challenge of its own': { challenge: Buffer.alloc(32, 7).toString('base64url') },
}

for (const [name, lie] of Object.entries(lies)) {
  test(`an answer for ${name} neither adds a passkey nor signs in`, async () => {
    const { user, browser, key } = await makeKeyHolder()
    const refused = await addKey(browser, new Authenticator(house.baseUrl), lie)
    assert.equal(refused.status, 400)
    assert.match(refused.text, /The passkey could not be added/)
    const half = await startSignIn(house, user)
    assert.equal((await sendKey(half, key, lie)).status, 401)
    assert.equal(await isSignedIn(half), false)
  })
}

test("another user's passkey does not sign in, not under the id of one's own either", async () => {
  const [victim, attacker] = [await makeKeyHolder(), await makeKeyHolder()]
  const half = await startSignIn(house, victim.user)
  assert.equal((await sendKey(half, attacker.key)).status, 401)
  assert.equal((await sendKey(half, attacker.key, { id: victim.key.id.toString('base64url') })).status, 401)
  assert.equal((await sendKey(half, new Authenticator(house.baseUrl))).status, 401)
})

test('a passkey that somebody has registered cannot be registered by another', async () => {
  const { key } = await makeKeyHolder()
  const other = await house.signIn(await house.makeUser())
  assert.equal((await addKey(other, key)).status, 400)
  assert.match((await other.get('/account/security')).text, /badge off">off/)
})

test('an answer counts once, for five minutes, and only for the user and the purpose it was asked for', async () => {
  const { user, key } = await makeKeyHolder()
  const half = await startSignIn(house, user)
  const page = await half.get('/login/second')
  const sent = {
    ...hiddenFields(page.text, '/login/second/passkey'),
    credential: key.get(readOptions(page), { counter: 0 }),
  }
  assert.equal((await half.post('/login/second/passkey', sent)).status, 303)
  const again = await startSignIn(house, user)
  const { csrf } = hiddenFields((await again.get('/login/second')).text, '/login/second/passkey')
  assert.equal((await again.post('/login/second/passkey', { ...sent, csrf: csrf! })).status, 401, 'a replay')

  const other = await makeKeyHolder()
  const theirs = await (await startSignIn(house, other.user)).get('/login/second')
  const { offer } = hiddenFields(theirs.text, '/login/second/passkey')
  const credential = key.get(readOptions(theirs))
  assert.equal(
    (await again.post('/login/second/passkey', { csrf: csrf!, offer: offer!, credential })).status,
    401,
    "another's challenge",
  )
})

test('a copy of an authenticator is betrayed by its counter', async () => {
  const { user, key } = await makeKeyHolder()
  assert.equal((await sendKey(await startSignIn(house, user), key, { counter: 9 })).status, 303)
  for (const counter of [9, 5, 0])
    assert.equal((await sendKey(await startSignIn(house, user), key, { counter })).status, 401)
})

test('nothing that a browser could send breaks the second step or the set-up', async () => {
  const { user, browser } = await makeKeyHolder()
  const texts = [
    '',
    'x',
    '{}',
    'null',
    '[]',
    '{"id":1}',
    '{"id":"a","response":null}',
    '{"id":"a","response":{}}',
    '{"id":"a\\u0000","response":{}}',
    '"'.repeat(1000),
  ]
  for (const credential of texts) {
    const page = await browser.get('/account/security/passkey')
    assert.equal(
      (await browser.submit(page, '/account/security/passkey', { name: 'x', credential })).status,
      400,
      credential,
    )
    house.clock.advance(16 * minute)
    const half = await startSignIn(house, user)
    const step = hiddenFields((await half.get('/login/second')).text, '/login/second/passkey')
    assert.equal((await half.post('/login/second/passkey', { ...step, credential })).status, 401, credential)
    house.clock.advance(-16 * minute)
  }
})

test('a passkey of the live site is asked for there alone; the sandbox takes a recovery code and is not open without one', async () => {
  const { user, recoveryCodes } = await makeKeyHolder()
  const browser = new Browser(house.sandboxUrl)
  await startSignIn(house, user, browser)
  const page = await browser.get('/login/second')
  assert.doesNotMatch(page.text, /data-passkey/)
  assert.match(page.text, /<details class="other" open>/)
  assert.equal(await isSignedIn(browser), false)
  assert.equal((await sendSecond(browser, { recovery: recoveryCodes[0]! })).status, 303)
})

test('a passkey alone signs in where the device verifies the person, and counts as both factors', async () => {
  const { key } = await makeKeyHolder()
  const browser = new Browser(house.baseUrl)
  const signedIn = await signInWithKey(browser, key)
  assert.equal(signedIn.status, 303, signedIn.text)
  assert.equal(await isSignedIn(browser), true)
  assert.equal((await browser.get('/account/security/passkey')).status, 200, 'what needs every proof')
  assert.match((await browser.get('/account/history')).text, /with a passkey alone/)
  house.clock.advance(6 * minute)
  assert.match((await browser.get('/account/security/passkey')).location!, /confirm=1$/)
  house.clock.advance(-6 * minute)
})

test('whatever is wrong with a passkey that stands alone, the answer is the same, and nobody is signed in', async () => {
  const { user, key } = await makeKeyHolder()
  const other = await makeKeyHolder()
  const locked = await makeKeyHolder()
  await setUserStatus(house.gateway.context.db, locked.user, 'disabled', house.act())
  const elsewhere = await makeKeyHolder()
  const { db } = house.gateway.context
  await ask(db, 'UPDATE users SET password_hash = NULL WHERE id = $1', [elsewhere.user.id])
  const handleOf = ({ id }: User) => Buffer.from(id).toString('base64url')
  const attempts: Record<string, (browser: Browser) => Promise<Answer>> = {
    'nobody verified': (browser) => signInWithKey(browser, key, { isVerified: false }),
    'another origin': (browser) => signInWithKey(browser, key, { origin: 'https://evil.example' }),
    'another host': (browser) => signInWithKey(browser, key, { host: 'evil.example' }),
    'a challenge of its own': (browser) =>
      signInWithKey(browser, key, { challenge: Buffer.alloc(32, 7).toString('base64url') }),
    "another user's name on it": (browser) =>
      signInWithKey(browser, key, { userHandle: handleOf(other.user) }),
    'no name on it': (browser) => signInWithKey(browser, key, { userHandle: '' }),
    "another's key under its id": (browser) =>
      signInWithKey(browser, other.key, { id: key.id.toString('base64url'), userHandle: handleOf(user) }),
    'nobody registered it': (browser) => signInWithKey(browser, new Authenticator(house.baseUrl)),
    'its user is locked': (browser) => signInWithKey(browser, locked.key),
    'its user signs in at a provider': (browser) => signInWithKey(browser, elsewhere.key),
  }
  for (const [what, attempt] of Object.entries(attempts)) {
    house.clock.advance(16 * minute)
    const browser = new Browser(house.baseUrl)
    const answer = await attempt(browser)
    assert.equal(answer.status, 401, what)
    assert.match(answer.text, /That passkey was not accepted\./, what)
    assert.equal(await isSignedIn(browser), false, what)
  }
})

test('a challenge of the login page is answered once, and answers no second step, nor the other way round', async () => {
  house.clock.advance(16 * minute)
  const { user, key } = await makeKeyHolder()
  const browser = new Browser(house.baseUrl)
  const page = await browser.get('/login')
  const credential = key.get(readOptions(page), { counter: 0 })
  const sent = { ...hiddenFields(page.text, '/login/passkey'), credential }
  assert.equal((await browser.post('/login/passkey', sent)).status, 303)
  const again = new Browser(house.baseUrl)
  const { csrf } = hiddenFields((await again.get('/login')).text, '/login/passkey')
  assert.equal((await again.post('/login/passkey', { ...sent, csrf: csrf! })).status, 401, 'a replay')

  const half = await startSignIn(house, user)
  const second = await half.get('/login/second')
  const known = key.get(readOptions(second), { counter: 0 })
  const { offer } = hiddenFields(second.text, '/login/second/passkey')
  const fresh = hiddenFields((await again.get('/login')).text, '/login/passkey')
  assert.equal(
    (await again.post('/login/passkey', { ...fresh, offer: offer!, credential: known })).status,
    401,
  )
  const first = await again.get('/login')
  const step = hiddenFields(second.text, '/login/second/passkey')
  const swapped = { ...step, offer: hiddenFields(first.text, '/login/passkey').offer! }
  const answered = key.get(readOptions(first), { counter: 0 })
  assert.equal((await half.post('/login/second/passkey', { ...swapped, credential: answered })).status, 401)
  house.clock.advance(6 * minute)
  assert.equal(
    (
      await again.post('/login/passkey', {
        ...hiddenFields(first.text, '/login/passkey'),
        credential: answered,
      })
    ).status,
    401,
    'after five minutes',
  )
})

test('the sandbox asks for no passkey: none is made there', async () => {
  const login = await new Browser(house.sandboxUrl).get('/login')
  assert.doesNotMatch(login.text, /passkey/)
})

test('at an address without a name there are no passkeys, and nothing offers them', async () => {
  const plain = await openTestGateway()
  const browser = await plain.signIn(await plain.makeUser())
  assert.doesNotMatch((await browser.get('/account/security')).text, /passkey/i)
  assert.doesNotMatch((await new Browser(plain.baseUrl).get('/login')).text, /passkey/i)
  assert.equal((await browser.get('/account/security/passkey')).status, 404)
  await plain.close()
})

test('an address that goes on failing with passkeys must wait, and one that nobody knows counts as well', async () => {
  const strict = await openTestGateway({ HOST: 'localhost', LOGIN_FAILURES_PER_ADDRESS: '3' })
  const browser = new Browser(strict.baseUrl)
  const statuses: number[] = []
  for (let tries = 0; tries < 4; tries++)
    statuses.push((await signInWithKey(browser, new Authenticator(strict.baseUrl))).status)
  assert.deepEqual(statuses, [401, 401, 401, 429])
  await strict.close()
})
