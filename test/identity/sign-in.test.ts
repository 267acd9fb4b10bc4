/** Sign-in by the brokerage's identity provider: who is let in, as whom, and where they come out. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { linkByHand, unlinkByHand } from '../../src/identity/identity.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { isSignedIn, pathOf, signInWith, startRequest } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const { db } = house.gateway.context
const people = {
  'sub-ada': { customer_id: 'C-1', email: 'ada@example.com' },
  'sub-stranger': { customer_id: 'C-404', email: 'ada@example.com', preferred_username: 'ada' },
  'sub-nameless': { email: 'ada@example.com' },
  'sub-first': { customer_id: 'C-twice' },
  'sub-second': { customer_id: 'C-twice' },
  'sub-locked': { customer_id: 'C-2' },
  'sub-number': { customer_id: 1_234_567 },
  'sub-large-number': { customer_id: 2 ** 53 },
}
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people }))
const bank = await registerUpstream(house, upstream, 'bank')
const ada = await makeCustomer(house, 'C-1')

const open = () => new Browser(house.baseUrl)
const selectSession =
  'SELECT authenticated_at AS "authenticatedAt", strong_at AS "strongAt" FROM sessions WHERE user_id = $1 ORDER BY id DESC LIMIT 1'

test('with one provider and no passwords nobody sees a choice: the login page leads straight there', async () => {
  const answer = await open().get('/login')
  assert.equal(answer.status, 303, answer.text)
  const asked = new URL(answer.location!)
  assert.equal(asked.origin, upstream.issuer)
})

test('a customer whom the provider vouches for is signed in as the one with that external id, and linked', async () => {
  const browser = open()
  const answer = await signInThere(browser, upstream, 'sub-ada')
  assert.equal(answer.status, 303, answer.text)
  assert.equal(await isSignedIn(browser), true)
  const entries = await findEntries(db, { action: 'identity.linked', subject: `user:${ada.id}` })
  assert.equal(entries.length, 1)
  await signInThere(open(), upstream, 'sub-ada')
  assert.equal((await findEntries(db, { action: 'identity.linked', subject: `user:${ada.id}` })).length, 1)
})

test('the session is as old as the sign-in at the provider', async () => {
  const there = new Browser(upstream.issuer)
  await signInThere(open(), upstream, 'sub-ada', { cookies: there })
  const signedInAt = house.clock.now()
  house.clock.advance(20 * minute)
  await upstream.keepTime()
  const browser = open()
  await signInThere(browser, upstream, 'sub-ada', { cookies: there })
  const [session] = await ask<{ authenticatedAt: Date; strongAt: Date | null }>(db, selectSession, [ada.id])
  const lateMs = Math.abs(session!.authenticatedAt.getTime() - signedInAt.getTime())
  assert.ok(lateMs < minute, `${session!.authenticatedAt.toISOString()}`)
  assert.equal(session!.strongAt, null)
})

test('somebody whom no customer belongs to is told so, with a reference that the audit log has', async () => {
  const browser = open()
  const answer = await signInThere(browser, upstream, 'sub-stranger')
  assert.equal(answer.status, 403)
  assert.match(answer.text, /We do not know you yet/)
  const [, reference] = /reference <code>([^<]+)<\/code>/.exec(answer.text)!
  const [entry] = await findEntries(db, { action: 'identity.unknown' })
  assert.equal(entry!.requestId, reference)
  assert.equal(await isSignedIn(browser), false)
})

test('somebody whom nobody knows by the account that they are signed in with there uses another one', async () => {
  const browser = open()
  const there = new Browser(upstream.issuer)
  const stranger = await signInThere(browser, upstream, 'sub-stranger', { cookies: there })
  const linkOf = (words: string) =>
    new RegExp(`href="([^"]+)">${words}`).exec(stranger.text)![1]!.replaceAll('&amp;', '&')
  const again = await signInThere(browser, upstream, 'sub-ada', { path: linkOf('Try again'), cookies: there })
  assert.equal(again.status, 403, 'the provider remembers who they were')
  const start = await browser.get(linkOf('Use another account'))
  const asked = await there.get((await there.get(start.location!)).location!)
  assert.equal(asked.status, 200)
  assert.match(asked.text, /name="who"/, 'the provider asks who it is')
  const answer = await browser.get(await upstream.signIn(start.location!, 'sub-ada'))
  assert.equal(answer.status, 303, answer.text)
  assert.equal(await isSignedIn(browser), true)
})

test('a provider that has a choice of accounts is asked for it, and every other for a sign-in', async () => {
  const promptOf = async (prompts: unknown) => {
    // Then what it is asked for stands in the address.
    const metadata = { prompt_values_supported: prompts, pushed_authorization_request_endpoint: null }
    await upstream.lie({ metadata })
    house.clock.advance(2 * minute)
    await upstream.keepTime()
    const { location } = await open().get('/login/with/bank?return=%2F&other=1')
    return new URL(location!).searchParams.get('prompt')
  }
  assert.equal(await promptOf(['none', 'login', 'select_account']), 'select_account')
  for (const prompts of [null, ['none', 'login'], 'select_account'])
    assert.equal(await promptOf(prompts), 'login')
  await upstream.lie(undefined)
  house.clock.advance(2 * minute)
  await upstream.keepTime()
})

test('a second subject that claims a customer who is linked already opens nothing, until the first is unlinked', async () => {
  const customer = await makeCustomer(house, 'C-twice')
  assert.equal((await signInThere(open(), upstream, 'sub-first')).status, 303)
  const answer = await signInThere(open(), upstream, 'sub-second')
  assert.equal(answer.status, 403)
  assert.match(answer.text, /We do not know you yet/)
  const [, reference] = /reference <code>([^<]+)<\/code>/.exec(answer.text)!
  const [entry] = await findEntries(db, { action: 'identity.unknown' })
  assert.equal(entry!.requestId, reference)
  assert.match(
    String(entry!.details.why),
    /linked to another subject there: sub-first\. Unlink that one first/,
  )
  await assert.rejects(
    linkByHand(db, bank, 'sub-second', customer, house.act()),
    /is linked to another subject of Example Bank ID: sub-first\. Unlink that one first\.$/,
  )
  await unlinkByHand(db, bank, 'sub-first', house.act())
  assert.equal((await signInThere(open(), upstream, 'sub-second')).status, 303)
})

test('of two subjects that claim a customer at once, one is linked', async () => {
  const customer = await makeCustomer(house, 'C-at-once')
  const [, second] = await runBehind(
    db,
    (first) => linkByHand(first, bank, 'sub-once', customer, house.act()),
    () => linkByHand(db, bank, 'sub-twice', customer, house.act()),
  )
  assert.equal(second.status, 'rejected')
})

test('nobody is found by an e-mail address or a name', async () => {
  const answer = await signInThere(open(), upstream, 'sub-nameless')
  assert.equal(answer.status, 403)
  assert.match(answer.text, /We do not know you yet/)
})

test('a customer who is locked stays out, whatever the provider says', async () => {
  const locked = await makeCustomer(house, 'C-2')
  await ask(db, `UPDATE users SET status = 'disabled' WHERE id = $1`, [locked.id])
  const answer = await signInThere(open(), upstream, 'sub-locked')
  assert.equal(answer.status, 403)
  assert.match(answer.text, /Your access is locked/)
})

test('whoever came with a request of an application goes on to it', async () => {
  const client = await house.makeClient()
  const browser = open()
  const answer = await signInThere(browser, upstream, 'sub-ada', {
    path: await startRequest(browser, client),
  })
  assert.equal(answer.status, 303)
  const page = await browser.get(pathOf(answer))
  assert.match(page.text, /Allow <em>Portfolio Pal<\/em>/)
})

test('a number that JSON cannot tell from its neighbours names nobody', async () => {
  await makeCustomer(house, '9007199254740992')
  await makeCustomer(house, '1234567')
  // What was 9007199254740993 where it was written is read as its neighbour.
  assert.equal((await signInThere(open(), upstream, 'sub-large-number')).status, 403)
  assert.equal((await signInThere(open(), upstream, 'sub-number')).status, 303)
})

test('whoever was on the way to a page goes on to it', async () => {
  const browser = open()
  const led = await browser.get('/account/devices')
  const answer = await signInThere(browser, upstream, 'sub-ada', { path: pathOf(led) })
  assert.equal(pathOf(answer), '/account/devices')
})

test('an answer that was made for another browser, or comes a second time, opens nothing', async () => {
  const browser = open()
  const start = await browser.get('/login')
  const back = await upstream.signIn(start.location!, 'sub-ada')
  const other = open()
  await other.get('/login')
  const stolen = await other.get(back)
  assert.equal(stolen.status, 400)
  assert.equal(await isSignedIn(other), false)
  assert.equal((await browser.get(back)).status, 303)
  const again = open()
  for (const [name, value] of browser.cookies) again.cookies.set(name, value)
  again.cookies.delete('countersign-live-session')
  assert.equal((await again.get(back)).status, 400)
})

test('where passwords are no way for holders, the right one is refused like a wrong one; operators keep theirs', async () => {
  const holder = await signInWith(open(), ada.username, { path: '/login/password', password })
  assert.equal(holder.status, 401)
  const operator = await house.makeOperator()
  assert.equal((await signInWith(open(), operator.username, { path: '/login/password' })).status, 303)
})

test('a network that begins too many sign-ins in a minute waits for the next', async () => {
  house.clock.advance(minute)
  await upstream.keepTime()
  for (let times = 0; times < 300; times++) await house.gateway.context.providerSignIns.count('127.0.0.1')
  const answer = await open().get('/login')
  assert.equal(answer.status, 429)
  assert.match(answer.text, /Many sign-ins were begun from this network/)
  house.clock.advance(minute)
  await upstream.keepTime()
  assert.equal((await open().get('/login')).status, 303)
})

test('whoever has no password is told where theirs is', async () => {
  await ask(db, 'UPDATE users SET password_hash = NULL WHERE id = $1', [ada.id])
  const browser = open()
  await signInThere(browser, upstream, 'sub-ada', { factor: true })
  const led = await browser.get('/account/password')
  const answer =
    led.status === 200
      ? led
      : await signInThere(browser, upstream, 'sub-ada', { path: led.location!, factor: true })
  const page = answer.status === 303 ? await browser.get(pathOf(answer)) : answer
  assert.match(page.text, /You have no password here/)
  assert.equal((await signInWith(open(), ada.username, { path: '/login/password' })).status, 401)
})

test('whoever leaves the provider without signing in is told so, and can try again', async () => {
  const browser = open()
  const answer = await signInThere(browser, upstream, '')
  assert.equal(answer.status, 403)
  assert.match(answer.text, /You did not sign in/)
  assert.match(answer.text, /href="\/login\/with\/bank\?/)
})

test('an application hears of it when its user gives up at the provider', async () => {
  const client = await house.makeClient()
  const browser = open()
  const answer = await signInThere(browser, upstream, '', { path: await startRequest(browser, client) })
  const left = await browser.post('/login/cancel', hiddenFields(answer.text, '/login/cancel'))
  assert.match(left.location!, /error=access_denied/)
})
