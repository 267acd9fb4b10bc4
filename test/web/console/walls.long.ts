/**
 * Roles are walls: every page and every form of the console, tried by everybody. A row of the site's table
 * that is in none of these tables fails the first test.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeDead } from '../../../src/gateway/housekeeping.ts'
import { setUserStatus } from '../../../src/users/user.ts'
import { pageRoutes } from '../../../src/web/routes.ts'
import { assertAnswered, otherAnswers } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { Browser, type Fields } from '../../support/browser.ts'
import { isAtRest } from '../../support/by-hand.ts'
import { openConsole } from '../../support/console.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { openPartner } from '../../support/portal.ts'
import { assertGuarded, readTables, tokenOf } from '../../support/web.ts'
import { forms, pages } from './rows.ts'

const ofConsole = pageRoutes.filter(({ path }) => /^\/console\b/.test(path))

const house = await openHouse()
const admin = await openConsole(house)
/** For whom there is no console: an account holder, and a partner's member. */
const others = {
  holder: await house.signIn(await house.makeUser()),
  member: (await openPartner(house)).browser,
}

/** What the house does by itself has been done: whatever changes now was done by a form. */
async function settle(): Promise<void> {
  const { callLog, chainCheck, clock, db, lastUse } = house.gateway.context
  // What somebody said yes to is removed by the next round.
  const removing = `SELECT FROM imports WHERE state = 'removing'`
  await eventually('imports that are removed', async () => (await ask(db, removing)).length === 0)
  // A recovery wakes a lane, and so does a probe: what a form of the test before began is written down by
  // then.
  await eventually('lanes at rest', () => isAtRest(db, clock.now()))
  // A verification is written down when it has ended.
  await eventually('the chain is verified', () => chainCheck.state().kind !== 'running')
  await lastUse.flush()
  await callLog.flush()
  await removeDead(house.gateway.context)
}

test('every page and every form of the console is in these tables', () => {
  const paths = (method: string) =>
    ofConsole.filter((route) => route.method === method).map(({ path }) => path)
  assert.deepEqual(Object.keys(pages).sort(), paths('GET').toSorted())
  assert.deepEqual(Object.keys(forms).sort(), paths('POST').toSorted())
})

for (const [path, aim] of Object.entries(pages)) {
  test(`GET ${path} is for operators, and is returned to after a sign-in`, async () => {
    const { address } = await aim(house, admin.user)
    const anonymous = await new Browser(house.baseUrl).get(address)
    assert.equal(anonymous.status, 303)
    assert.equal(anonymous.location, `/login?return=${encodeURIComponent(address)}`)
    const login = await new Browser(house.baseUrl).get(anonymous.location!)
    assert.ok(login.text.includes(`name="return" value="${address.replaceAll('&', '&amp;')}"`), login.text)
    for (const [who, browser] of Object.entries(others))
      assert.equal((await browser.get(address)).status, 404, who)
    const page = await admin.browser.get(address)
    assert.equal(page.status, 200, page.text)
    if (String(page.headers['content-type']).startsWith('text/html')) assertGuarded(page, address)
    else assert.match(String(page.headers['content-disposition']), /^attachment;/)
    const csrf = await tokenOf(admin.browser)
    assert.equal(
      (await admin.browser.post(address.split('?')[0]!, { csrf })).status,
      405,
      'a page is no form',
    )
  })
}

const why = 'Asked for in ticket 4711.'

function rowOf(path: string) {
  return ofConsole.find((route) => route.method === 'POST' && route.path === path)
}

function asksWhy(path: string): boolean {
  return rowOf(path)?.gate.proofs.includes('reason') ?? false
}

/** What a partner reads may be longer than what the log alone keeps. */
function tooLong(path: string): string {
  return 'x'.repeat(rowOf(path)!.definition!.fields.reason!.most + 1)
}

/**
 * What takes something from somebody, or makes somebody more than they were: by its last word, so that a new
 * one is not forgotten. The image of a draft is nobody's yet.
 */
const dangerous =
  /\/(suspend|lock|decline|reset|revoke|withdraw|pause|close|close\/all|give|take|email|stop|staff\/new\/create|credentials\/create|upload|(?<!image\/)remove)$/

test('whatever an operator takes from somebody takes a reason', () => {
  const asked = Object.keys(forms).filter((path) => asksWhy(path))
  assert.deepEqual(
    asked,
    Object.keys(forms).filter((path) => dangerous.test(path)),
  )
  assert.ok(asked.length >= 12)
})

/** What an import removes after somebody's yes, it removes in the gateway's name. */
const goesOnByItself = /,gateway,(?:user\.removed|provisioning\.merged|import\.finished),/

for (const [path, aim] of Object.entries(forms)) {
  test(`POST ${path} does nothing for anybody but an operator, and nothing for a form that is not ours`, async () => {
    const { db } = house.gateway.context
    const { address, fields: aimed = {}, files } = await aim(house, admin.user)
    const post = (browser: Browser, sent: Fields, headers = {}) =>
      files ? browser.upload(address, sent, files, headers) : browser.post(address, sent, headers)
    const fields = asksWhy(path) ? { ...aimed, reason: why } : aimed
    const csrf = await tokenOf(admin.browser)
    const foreign = await tokenOf(others.holder!)
    const tokens = new Map(
      await Promise.all(Object.values(others).map(async (each) => [each, await tokenOf(each)] as const)),
    )
    await settle()
    const before = await readTables(db)
    const anonymous = await post(new Browser(house.baseUrl), { ...fields, csrf })
    assert.equal(anonymous.status, 303)
    assert.match(anonymous.location!, /^\/login\?return=%2Fconsole/)
    const heldBy = decodeURIComponent(anonymous.location!.slice('/login?return='.length))
    assert.ok(
      (await new Browser(house.baseUrl).get(anonymous.location!)).text.includes(`value="${heldBy}"`),
      heldBy,
    )
    assert.match((await admin.browser.get(heldBy)).text, /<h1>/, 'the page that holds the form is there')
    for (const [browser, token] of tokens)
      assert.equal((await post(browser, { ...fields, csrf: token })).status, 404)
    const attacks = [
      await post(admin.browser, fields),
      await post(admin.browser, { ...fields, csrf: foreign }),
      await post(admin.browser, { ...fields, csrf }, { origin: 'https://evil.example' }),
      await post(admin.browser, { ...fields, csrf }, { 'sec-fetch-site': 'cross-site' }),
    ]
    assert.deepEqual(
      attacks.map(({ status }) => status),
      [403, 403, 403, 403],
    )
    assert.equal((await admin.browser.get(address)).status, 303, 'a GET leads to the page of the form')
    if (asksWhy(path))
      for (const reason of ['', '   ', tooLong(path), '\u202e'])
        assert.equal(
          (await post(admin.browser, { ...fields, csrf, reason })).status,
          400,
          'it takes a reason',
        )
    assert.deepEqual(await readTables(db), before)
    const answer = await post(admin.browser, { ...fields, csrf })
    assert.equal(answer.status, path in otherAnswers ? 200 : 303, answer.text)
    await settle()
    const done = await readTables(db)
    assert.notDeepEqual(done, before)
    const isNew = (row: string) => !before.audit_entries!.includes(row) && !goesOnByItself.test(row)
    const recorded = done.audit_entries!.filter(isNew)
    assert.ok(recorded.length > 0, 'the act is in the audit log')
    for (const row of recorded) assert.ok(row.includes(`user:${admin.user.id}`), row)
    if (asksWhy(path))
      assert.ok(
        recorded.some((row) => row.includes(why)),
        'the reason is in the audit log',
      )
    if (!(path in otherAnswers)) await assertAnswered(admin.browser, answer)
  })
}

test('an operator who is locked out finds no console any more, with the page that was open', async () => {
  const gone = await openConsole(house)
  const csrf = await tokenOf(gone.browser)
  const { address, fields = {} } = await forms['/console/partners/:branch/suspend']!(house, gone.user)
  const { db } = house.gateway.context
  await setUserStatus(db, gone.user, 'disabled', house.act())
  const before = await readTables(db)
  assert.match((await gone.browser.post(address, { ...fields, csrf })).location!, /^\/login\?return=/)
  assert.match((await gone.browser.get('/console/partners')).location!, /^\/login\?return=/)
  assert.deepEqual(await readTables(db), before)
})
