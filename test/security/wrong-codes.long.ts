/**
 * Somebody has learned a password and guesses codes for as long as it takes, on every node at once. The wait
 * between guesses is held off.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { setEmail } from '../../src/users/email.ts'
import { resetSecondFactor } from '../../src/users/second-factor.ts'
import { type Answer, Browser } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { noticesOf } from '../support/notices.ts'
import { openSecondNode } from '../support/oauth.ts'
import {
  type App,
  makeGuardedUser,
  secondStep,
  sendSecond,
  setUpApp,
  startSignIn,
  wrongCode,
} from '../support/second-factor.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ LOGIN_FAILURES_PER_USER: '100000', LOGIN_FAILURES_PER_ADDRESS: '100000' })
const second = await keepOpen(openSecondNode(house))

async function fail(browser: Browser, app: App, times: number): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let time = 0; time < times; time++) answers.push(await sendSecond(browser, { code: wrongCode(app) }))
  return answers
}

/** By somebody who does not wait for pages. */
async function failSignIns(user: Parameters<typeof startSignIn>[1], app: App, codes: number): Promise<void> {
  for (let failed = 0; failed < codes; failed += 10) {
    const browser = await startSignIn(house, user)
    const fields = secondStep((await browser.get('/login/second')).text)
    for (let time = 0; time < 10; time++)
      await browser.post('/login/second', { ...fields, code: wrongCode(app) })
  }
}

const looksAt = async (userId: string) => {
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${userId}`,
    action: 'session',
    limit: 500,
  })
  return entries.filter(({ details }) => details.at === 'second step').length
}

test('ten wrong codes in a row end the half-way sign-in: the password is asked for again', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = await startSignIn(house, user)
  const answers = await fail(browser, app, 10)
  assert.deepEqual(
    answers.slice(0, 9).map(({ status }) => status),
    Array(9).fill(401),
  )
  assert.equal(answers[9]!.location, '/login?return=%2F&confirm=1&ended=codes')
  assert.match(
    (await browser.get(answers[9]!.location!)).text,
    /Ten codes in a row were wrong\. Sign in again\./,
  )
  assert.match(
    (await sendSecond(browser, { code: app.code() })).location!,
    /^\/login\?/,
    'the right one comes too late',
  )
  assert.equal(await isSignedIn(browser), false)
  await startSignIn(house, user, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303, 'begun anew')
})

test('a note of the first step that was kept is worth nothing after ten wrong codes', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = await startSignIn(house, user)
  const kept = new Map(browser.cookies)
  await fail(browser, app, 10)
  for (const [name, value] of kept) browser.cookies.set(name, value)
  assert.match((await sendSecond(browser, { code: app.code() })).location!, /^\/login\?/)
  assert.equal(await isSignedIn(browser), false)
})

test('of fifty guesses at once, on two nodes, ten are looked at', async () => {
  const { user, app } = await makeGuardedUser(house)
  const browser = await startSignIn(house, user)
  const fields = secondStep((await browser.get('/login/second')).text)
  const before = await looksAt(user.id)
  const elsewhere = new Browser(second.baseUrl)
  for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value)
  const guesses = Array.from({ length: 50 }, (_, place) =>
    (place % 2 === 0 ? browser : elsewhere).post('/login/second', { ...fields, code: wrongCode(app) }),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 401).length, 9)
  assert.equal((await looksAt(user.id)) - before, 10)
})

test('a hundred wrong codes in a row lock the app: the right code is refused, and the person is told', async () => {
  const { user, app, browser: owner } = await makeGuardedUser(house)
  await setEmail(house.gateway.context.db, user, 'owner@holders.example', house.act())
  await failSignIns(user, app, 90)
  const browser = await startSignIn(house, user)
  await fail(browser, app, 9)
  house.clock.advance(30_000)
  assert.doesNotMatch((await browser.get('/login/second')).text, /locked/)
  await fail(browser, app, 1)
  await startSignIn(house, user, browser)
  const page = await browser.get('/login/second')
  assert.match(page.text, /Your authenticator app is locked, because a hundred codes in a row were wrong\./)
  assert.doesNotMatch(page.text, /Code from your authenticator app/)
  house.clock.advance(60_000)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 401)
  assert.equal(await isSignedIn(browser), false)
  assert.match(
    (await owner.get('/account/history')).text,
    /Your authenticator app was locked after a hundred wrong codes/,
  )
  assert.match((await owner.get('/account/security')).text, /locked after a hundred wrong codes/)
  const [entry] = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'second_factor.locked',
  })
  assert.equal(entry!.actor, 'anonymous')
  const told = await noticesOf(house.gateway.context.db, user)
  assert.deepEqual(
    told
      .filter(({ kind }) => kind === 'second-factor')
      .map(({ facts }) => (facts as { change: string }).change),
    ['locked'],
  )
})

test('a recovery code unlocks the app', async () => {
  const { user, app } = await makeGuardedUser(house)
  await failSignIns(user, app, 100)
  const browser = await startSignIn(house, user)
  assert.equal((await sendSecond(browser, { recovery: app.recoveryCodes[0]! })).status, 303)
  assert.doesNotMatch((await browser.get('/account/security')).text, /locked/)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 303)
})

test('an operator sees that an app is locked; after a reset, a new one is not', async () => {
  const { user, app } = await makeGuardedUser(house)
  await failSignIns(user, app, 100)
  const admin = await openConsole(house)
  assert.match(
    (await admin.browser.get(`/console/users/${user.id}`)).text,
    /locked after a hundred wrong codes/,
  )
  await resetSecondFactor(house.gateway.context.db, user, house.act())
  const browser = await house.signIn(user)
  const fresh = await setUpApp(house, browser, -1)
  await startSignIn(house, user, browser)
  assert.equal((await sendSecond(browser, { code: fresh.code() })).status, 303)
})

test('a code that is right ends the row: what was wrong before it does not count towards the lock', async () => {
  const { user, app } = await makeGuardedUser(house)
  await failSignIns(user, app, 90)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 303)
  house.clock.advance(30_000)
  await failSignIns(user, app, 90)
  assert.equal((await sendSecond(await startSignIn(house, user), { code: app.code() })).status, 303)
})

test('half-way sign-ins that are open at once share their ten guesses, and the lock is told once', async () => {
  const { user, app } = await makeGuardedUser(house)
  const steps = await Promise.all(Array.from({ length: 6 }, () => startSignIn(house, user)))
  const guesses = await Promise.all(
    steps.map(async (browser, place) => {
      const fields = secondStep((await browser.get('/login/second')).text)
      const other = new Browser(place % 2 === 0 ? house.baseUrl : second.baseUrl)
      for (const [name, value] of browser.cookies) other.cookies.set(name, value)
      return () => other.post('/login/second', { ...fields, code: wrongCode(app) })
    }),
  )
  const before = await looksAt(user.id)
  await Promise.all(Array.from({ length: 10 }, () => guesses.map((guess) => guess())).flat())
  assert.equal((await looksAt(user.id)) - before, 10)
  await failSignIns(user, app, 100)
  const { db } = house.gateway.context
  const locks = await findEntries(db, { subject: `user:${user.id}`, action: 'second_factor.locked' })
  assert.equal(locks.length, 1)
})
