/**
 * Somebody has an open session of a holder, and perhaps the password too. What needs a proof asks for every
 * one that there is.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { listApiTokens } from '../../src/users/api-token.ts'
import { findSecondFactors } from '../../src/users/second-factor.ts'
import { type Answer, type Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, password } from '../support/gateway.ts'
import { makeGuardedUser, sendSecond, setUpApp, startSignIn } from '../support/second-factor.ts'
import { openConsent, startRequest } from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient()

const nextPassword = 'quite another sentence'

/** Sends a form without its page: the token of every form of a session is the same. */
async function sendForm(
  browser: Browser,
  action: string,
  fields: Record<string, string> = {},
): Promise<Answer> {
  const { csrf } = hiddenFields((await browser.get('/account')).text, '/logout')
  return browser.post(action, { csrf: csrf!, ...fields })
}

const changePassword = (browser: Browser) =>
  sendForm(browser, '/account/password', { current: password, next: nextPassword, again: nextPassword })

/** A form that makes something carries a mark of its own, which its page shows. */
async function makeToken(browser: Browser): Promise<Answer> {
  const action = '/account/api/tokens'
  const hidden = hiddenFields((await browser.get('/account/api')).text, action)
  return browser.post(action, { ...hidden, name: 'thief', environment: 'live' })
}

function assertAsked(answer: Answer, returnTo: string): void {
  assert.equal(answer.location, `/login?return=${encodeURIComponent(returnTo)}&confirm=1`, answer.text)
}

test('an open session and the password, without a code, change no password, remove no app and make no token', async () => {
  const { user, browser } = await makeGuardedUser(house)
  house.clock.advance(6 * minute)
  assertAsked(await changePassword(browser), '/account/password')
  assertAsked(await sendForm(browser, '/account/security/app/remove'), '/account/security')
  assertAsked(await makeToken(browser), '/account/api')
  await startSignIn(house, user, browser)
  assertAsked(await makeToken(browser), '/account/api')
  const { db } = house.gateway.context
  assert.ok((await findSecondFactors(db, user.id)).totp)
  assert.deepEqual(await listApiTokens(db, user.id), [])
})

test('a change of password gives the new session the proofs of the old one, and not more', async () => {
  const [old, young] = [await house.makeUser(), await house.makeUser()]
  const stale = await house.signIn(old)
  house.clock.advance(4 * minute)
  const fresh = await house.signIn(young)
  house.clock.advance(2 * minute)
  for (const browser of [stale, fresh]) assert.equal((await changePassword(browser)).status, 303)
  assertAsked(await makeToken(stale), '/account/api')
  assert.equal((await makeToken(fresh)).status, 200)
  house.clock.advance(4 * minute)
  assertAsked(await makeToken(fresh), '/account/api')
})

test('setting up a factor proves nothing of before: from then on it is asked for', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  house.clock.advance(2 * minute)
  const app = await setUpApp(house, browser)
  assertAsked(await makeToken(browser), '/account/api')
  assertAsked(await sendForm(browser, '/account/security/app/remove'), '/account/security')
  assertAsked(await sendForm(browser, '/account/security/recovery'), '/account/security')
  assertAsked(await browser.get('/account/security/passkey'), '/account/security/passkey')
  house.clock.advance(30_000)
  await startSignIn(house, user, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  assert.equal((await makeToken(browser)).status, 200)
})

for (const scope of ['trade', 'write']) {
  test(`consent to ${scope} takes the factor of whoever has one, given minutes ago`, async () => {
    const user = await house.makeUser()
    const browser = await house.signIn(user)
    assert.equal((await openConsent(browser, client, { scope })).status, 200, 'the password is all there is')
    const app = await setUpApp(house, browser)
    const path = await startRequest(browser, client, { scope })
    assert.match((await browser.get(path)).text, /Confirm it is you/)
    const read = await openConsent(browser, client, { scope: 'read' })
    const request = new URL(path, house.baseUrl).searchParams.get('request')!
    const mixed = await browser.submit(read, '/consent', { request, decision: 'approve' })
    assert.equal(mixed.status, 403, 'the form of another request')
    house.clock.advance(30_000)
    await startSignIn(house, user, browser)
    assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
    assert.equal((await openConsent(browser, client, { scope })).status, 200)
  })
}
