/**
 * A user's own change of password: by its owner, no faster to guess than at sign-in, and the end of every
 * other session.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { assertAnswered } from '../support/answers.ts'
import { ask } from '../support/ask.ts'
import { type Answer, type Browser, hiddenFields } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, password, type TokenBody } from '../support/gateway.ts'
import { guess, isSignedIn, sessionCookie } from '../support/web.ts'

const house = await openHouse()

const next = 'a different password'

async function change(browser: Browser, fields: Record<string, string> = {}): Promise<Answer> {
  const page = await browser.get('/account/password')
  return browser.submit(page, '/account/password', { current: password, next, again: next, ...fields })
}

test('a change signs out everywhere else, gives this session a new id, and is the only password that signs in', async () => {
  const user = await house.makeUser()
  const here = await house.signIn(user)
  const others = [await house.signIn(user), await house.signIn(user, 'sandbox')]
  const before = sessionCookie(here)
  const answer = await change(here)
  assert.equal(answer.status, 303)
  assert.equal(answer.location, '/account/security')
  assert.match((await assertAnswered(here, answer)).text, /^Your password is changed/)
  assert.notEqual(sessionCookie(here), before)
  assert.equal(await isSignedIn(here), true)
  for (const browser of others) assert.equal(await isSignedIn(browser), false)
  here.cookies.set('countersign-live-session', before)
  assert.equal(await isSignedIn(here), false, 'the old id is worth nothing')
  assert.equal((await guess(house, user.username, password)).status, 401)
  assert.equal((await guess(house, user.username, next)).status, 303)
  const [, , entry] = await findEntries(house.gateway.context.db, { subject: `user:${user.id}`, limit: 3 })
  assert.equal(entry!.action, 'user.password_changed')
  assert.equal(entry!.actor, `user:${user.id}`)
})

const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`

test('of a form that is sent twice, as by a double click, the one that somebody waits for counts', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = await browser.get('/account/password')
  const body = new URLSearchParams({
    ...hiddenFields(page.text, '/account/password'),
    ...{ current: password, next, again: next },
  }).toString()
  const { hostname, port } = new URL(house.baseUrl)
  const { db } = house.gateway.context
  const first = connect(Number(port), hostname)
  const head = [
    'POST /account/password HTTP/1.1',
    ...[
      `host: ${hostname}:${port}`,
      `cookie: ${browser.cookieHeader}`,
      'content-type: application/x-www-form-urlencoded',
    ],
    `content-length: ${body.length}`,
  ]
  // Held until nobody waits for it: the first one is about to change the password by then, and cannot.
  await db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await ask(sql, 'SELECT FROM users WHERE id = $1 FOR UPDATE', [user.id])
    first.write(`${head.join('\r\n')}\r\n\r\n${body}`)
    await eventually('the first one waits', async () => (await ask(db, waiting)).length > 0)
    first.destroy()
    await once(first, 'close')
    // The gateway has heard of it before it has answered this.
    await browser.get('/account')
  })
  const answer = await change(browser)
  assert.equal(answer.location, '/account/security')
  assert.equal(await isSignedIn(browser), true)
})

const faults: Record<string, [Record<string, string>, string, RegExp]> = {
  'no old password': [{ current: '' }, 'current', /Enter your current password/],
  'a wrong old password': [{ current: 'not the right password' }, 'current', /This is not your password/],
  'a new password that is too short': [{ next: 'short', again: 'short' }, 'next', /at least 12 characters/],
  'a new password that is too long': [
    { next: 'é'.repeat(513), again: 'é'.repeat(513) },
    'next',
    /at most 1024 bytes/,
  ],
  'the old password again': [{ next: password, again: password }, 'next', /must differ from the old one/],
  'two different new ones': [{ again: 'another password' }, 'again', /The new passwords do not match/],
}

for (const [name, [fields, field, words]] of Object.entries(faults)) {
  test(`${name} is told beside its field and changes nothing`, async () => {
    const user = await house.makeUser()
    const browser = await house.signIn(user)
    const other = await house.signIn(user)
    const answer = await change(browser, fields)
    assert.equal(answer.status, 400)
    const problem = new RegExp(`<p class="problem" id="${field}-problem">([^<]*)</p>`).exec(answer.text)
    assert.match(problem?.[1] ?? answer.text, words)
    assert.match(answer.text, new RegExp(`id="${field}"[^>]*aria-describedby="[^"]*${field}-problem[ "]`))
    assert.doesNotMatch(answer.text, /value="(correct horse|a different)/, 'no password is sent back')
    assert.equal(await isSignedIn(other), true)
    assert.equal((await guess(house, user.username, password)).status, 303)
  })
}

test('the old password is guessed no faster here than at sign-in: after five failures the right one is refused too', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  for (let time = 0; time < 5; time++)
    assert.equal((await change(browser, { current: `guess ${time}` })).status, 400)
  assert.equal((await change(browser)).status, 400)
  const throttled = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'session.throttled',
  })
  assert.deepEqual(
    throttled.map(({ details }) => details),
    [{ at: 'password change' }],
  )
  house.clock.advance(2 * minute)
  assert.equal((await change(browser)).status, 303)
})

test('of parallel guesses five are looked at', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  browser.cookies.delete('countersign-live-device')
  const guesses = Array.from({ length: 20 }, (_, place) => change(browser, { current: `guess ${place}` }))
  for (const { status } of await Promise.all(guesses)) assert.equal(status, 400)
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'session',
  })
  const refused = entries.filter(
    ({ action }) => action === 'session.refused' || action === 'session.throttled',
  )
  assert.equal(refused.length, 5)
})

test('of two changes at once one happens', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = await browser.get('/account/password')
  const send = (text: string) =>
    browser.submit(page, '/account/password', { current: password, next: text, again: text })
  const answers = await Promise.all([send('the first of two'), send('the second of two')])
  const changed = answers.filter(({ location }) => location === '/account/security')
  assert.equal(changed.length, 1)
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'user.password_changed',
  })
  assert.equal(entries.length, 1)
})

test('applications can be paused along with it, in the same act; otherwise they keep working', async () => {
  const client = await house.makeClient()
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const code = (await house.approve(client, browser)).get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  await change(browser)
  assert.equal((await house.profile(access_token)).status, 200)
  await change(browser, {
    current: next,
    next: 'yet another password',
    again: 'yet another password',
    pause: 'yes',
  })
  assert.equal((await house.profile(access_token)).status, 401)
  assert.match((await browser.get('/account')).text, /Paused since/)
})

test('an expired session is sent to sign in and comes back to the password page', async () => {
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/account/password')
  house.clock.advance(31 * minute)
  const answer = await browser.submit(page, '/account/password', { current: password, next, again: next })
  assert.equal(answer.location, '/login?return=%2Faccount%2Fpassword')
})
