/**
 * Operators have a second factor before they have a console, and give every proof they have for whatever they
 * change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../../src/clock.ts'
import { pageRoutes } from '../../../src/web/routes.ts'
import type { Browser } from '../../support/browser.ts'
import { openConsole, press } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { makeGuardedUser, sendSecond, setUpApp, startSignIn } from '../../support/second-factor.ts'
import { assertGuarded, markTables, tokenOf } from '../../support/web.ts'

const house = await openHouse({ REQUIRE_SECOND_FACTOR_FOR_OPERATORS: 'true' })

async function openAll(browser: Browser) {
  const csrf = await tokenOf(browser)
  const { branchId } = await house.makePartner()
  const user = await house.makeUser()
  const fill = (path: string) =>
    path
      .replace('/users/:id', `/users/${user.id}`)
      .replace(':branch', String(branchId))
      .replaceAll(/:\w+/g, '1')
  const ofConsole = pageRoutes.filter(({ path }) => /^\/console\b/.test(path))
  return ofConsole.map(({ method, path }) => ({
    path,
    open: () =>
      method === 'GET'
        ? browser.get(fill(path))
        : browser.post(fill(path), {
            csrf,
            seen: 'approved',
            reason: 'x',
            session: '1',
            token: '1',
            authorization: '1',
          }),
  }))
}

test('an operator without a second factor is led to set one up, by every page and every form of the console', async () => {
  const { browser } = await openConsole(house)
  const all = await openAll(browser)
  const before = await markTables(house.gateway.context.db)
  for (const { path, open } of all) {
    const answer = await open()
    assert.equal(answer.status, 403, path)
    assertGuarded(answer, path)
    assert.match(answer.text, /Set up two-factor sign-in first[\s\S]*href="\/account\/security"/, path)
  }
  assert.deepEqual(await markTables(house.gateway.context.db), before)
  const stream = await browser.get('/console', { accept: 'text/event-stream' })
  assert.equal(stream.status, 403)
})

test('a factor that was set up in this session is asked for before the console opens', async () => {
  const { user, browser } = await openConsole(house)
  const app = await setUpApp(house, browser, -1)
  const asked = await browser.get('/console/partners')
  assert.equal(asked.location, '/login?return=%2Fconsole%2Fpartners&confirm=1')
  await startSignIn(house, user, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  assert.equal((await browser.get('/console/partners')).status, 200)
  house.clock.advance(6 * minute)
  assert.equal((await browser.get('/console/partners')).status, 200, 'to look, any session with both will do')
})

test('an operator who gives the last factor up has no console any more', async () => {
  const { browser } = await makeGuardedUser(house, await house.makeOperator())
  assert.equal((await browser.get('/console')).status, 200)
  await browser.submit(await browser.get('/account/security'), '/account/security/app/remove', {})
  assert.equal((await browser.get('/console')).status, 403)
})

test('to suspend a partner takes password and code minutes ago, and leads back to the page of the form', async () => {
  const { user, browser, app } = await makeGuardedUser(house, await house.makeOperator())
  const { branchId } = await house.makePartner()
  const page = `/console/partners/${branchId}`
  house.clock.advance(6 * minute)
  const late = await press(browser, page, '/suspend', { reason: 'The terms were broken.' })
  assert.equal(late.location, `/login?return=${encodeURIComponent(page)}&confirm=1`)
  assert.match((await browser.get(page)).text, /approved<\/span>/)
  await startSignIn(house, user, browser)
  await press(browser, page, '/suspend', { reason: 'The terms were broken.' })
  assert.match((await browser.get(page)).text, /approved<\/span>/, 'the password alone is not enough')
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  const done = await press(browser, page, '/suspend', { reason: 'The terms were broken.' })
  assert.equal(done.location, page)
})

test('for everybody else there is still no console', async () => {
  const browser = await house.signIn(await house.makeUser())
  for (const { path, open } of await openAll(browser)) assert.equal((await open()).status, 404, path)
})
