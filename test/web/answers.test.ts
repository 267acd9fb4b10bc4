/**
 * Every act answers in one pattern: what was done, with the way back or a link. What the walls' tests do not
 * send is sent here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember, listMembers } from '../../src/partners/partner.ts'
import { toldMs } from '../../src/web/frame/flash-message.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { assertAnswered, otherAnswers, toldBy } from '../support/answers.ts'
import type { Browser } from '../support/browser.ts'
import { openConsole, press } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { openPartner } from '../support/portal.ts'
import { pathOf } from '../support/web.ts'

const house = await openHouse({ HOST: 'localhost', WEBHOOK_ALLOW_LOOPBACK: 'true' })
const own = await openPartner(house)

/** Sends the form on its page and looks at how that is answered. */
async function send(browser: Browser, page: string, action: string, fields: Record<string, string> = {}) {
  return assertAnswered(browser, await browser.submit(await browser.get(page), action, fields))
}

/** The acts of an account, each on what it needs; by the row of the table. */
const ofAccount: Record<string, () => Promise<unknown>> = {
  '/account/pause': () => connected('pause'),
  '/account/resume': async () => {
    const { browser } = await connected('pause')
    return send(browser, '/account', '/account/resume')
  },
  '/account/revoke': () => connected('revoke'),
  '/account/api/revoke': async () => {
    const user = await house.makeUser()
    await house.makeToken(user)
    return send(await house.signIn(user), '/account/api', '/account/api/revoke')
  },
  '/account/devices/close': () => elsewhere('close'),
  '/account/devices/close/others': () => elsewhere('close/others'),
  '/account/security/notices': () =>
    send(own.browser, '/account/security/notices', '/account/security/notices'),
  '/account/security/email': async () => {
    const browser = await house.signIn(await house.makeUser())
    const page = '/account/security/email'
    await send(browser, page, page, { email: 'ada@example.com' })
    return send(browser, page, `${page}/remove`)
  },
}

async function connected(verb: 'pause' | 'revoke') {
  const browser = await house.signIn(await house.makeUser())
  await house.approve(await house.makeClient(), browser)
  const told = await send(browser, '/account', `/account/${verb}`)
  return { browser, told }
}

async function elsewhere(verb: string) {
  const user = await house.makeUser()
  await house.signIn(user)
  return send(await house.signIn(user), '/account/devices', `/account/devices/${verb}`)
}

/** Sent by a test of their own, which looks at the answer. */
const elsewhereTested: Record<string, string> = {
  '/account/password': 'web/password-change',
  '/account/views/save': 'web/lists',
  '/account/views/remove': 'web/lists',
  '/account/security/app': 'web/two-factor',
  '/account/security/app/remove': 'web/two-factor',
  '/account/security/passkey': 'web/passkeys',
  '/account/security/passkey/remove': 'web/passkeys',
  '/account/security/email/remove': 'with the address above',
}

test('every form of the table answers with undo or a link, or has a reason not to', () => {
  const posted = pageRoutes.filter(({ method }) => method === 'POST').map(({ path }) => path)
  // Those of the portal and of the console are sent by their walls' tests, which know every row.
  const ofWalls = posted.filter((path) => /^\/(?:partner|console)\b/.test(path))
  const known = [
    ...Object.keys(ofAccount),
    ...Object.keys(elsewhereTested),
    ...Object.keys(otherAnswers),
    ...ofWalls,
  ]
  assert.deepEqual(
    posted.filter((path) => !known.includes(path)),
    [],
  )
  for (const path of [...Object.keys(otherAnswers), ...Object.keys(elsewhereTested)])
    assert.ok(posted.includes(path), path)
})

for (const [path, act] of Object.entries(ofAccount))
  test(`POST ${path} says what was done, with the way back or a link`, async () => void (await act()))

test('undo does the opposite, and can itself be undone', async () => {
  const id = await own.program.register('http://127.0.0.1:9/hooks')
  const page = `${own.home}/webhooks/${id}`
  const states: string[] = []
  let answer = await own.browser.submit(await own.browser.get(page), `${page}/pause`, {})
  for (let n = 0; n < 3; n++) {
    const shown = await own.browser.get(pathOf(answer))
    states.push(/<h1>[^<]*<span class="state \w+">([^<]+)/.exec(shown.text)![1]!)
    answer = await own.browser.submit(shown, toldBy(shown)!.undo!, {})
  }
  assert.deepEqual(states, ['paused', 'not tried since it was resumed', 'paused'])
})

test('a client and the role of a member are put back as they were', async () => {
  const { browser, client, home } = own
  const undo = async (page: string, action: string, fields: Record<string, string | string[]>) => {
    const done = await browser.submit(await browser.get(page), action, fields)
    const shown = await browser.get(pathOf(done))
    const undone = await browser.submit(shown, toldBy(shown)!.undo!, {})
    await assertAnswered(browser, undone)
    return (await browser.get(page)).text
  }
  const at = `${home}/clients/${client.id}`
  const changed = { name: 'Changed', callback: 'https://changed.example/cb', scope: ['read'] }
  const put = await undo(at, `${at}/update`, changed)
  assert.ok(put.includes(client.callbackUrl) && !put.includes('changed.example'))
  const { db } = house.gateway.context
  const second = await house.makeUser()
  await addMember(db, own.partner, second, house.act())
  const roleOf = async () => (await listMembers(db, own.partner)).find(({ id }) => id === second.id)?.role
  const before = await roleOf()
  await undo(`${home}/members`, `${home}/members/role`, { user: second.id, role: 'viewer' })
  assert.equal(await roleOf(), before)
})

test('what was done is told to whoever did it, on its page, for minutes', async () => {
  const { browser, home, program } = own
  const page = `${home}/webhooks/${await program.register('http://127.0.0.1:9/told')}`
  const pause = async () => browser.submit(await browser.get(page), `${page}/pause`, {})
  await pause()
  assert.equal(toldBy(await browser.get(`${home}/webhooks`)), undefined, 'not on another page')
  assert.ok(toldBy(await browser.get(`${page}?period=day`)), 'but on its own, whatever that is asked')
  await browser.submit(await browser.get(page), `${page}/resume`, {})
  house.clock.advance(toldMs + 1)
  assert.equal(toldBy(await browser.get(page)), undefined)
})

test('no address and no cookie of somebody else puts words or buttons on a page', async () => {
  const admin = await openConsole(house)
  const page = '/console/partners'
  for (const query of ['told=x', 'done=approved', 'done=approved&about=branch:1', 'told=%00'])
    assert.equal(toldBy(await admin.browser.get(`${page}?${query}`)), undefined, query)
  const home = `/console/partners/${own.partner.branchId}`
  const answer = await press(admin.browser, home, '/refresh/withdraw', { reason: 'Asked for.' })
  const [told] = [answer.headers['set-cookie'] ?? []].flat().filter((line) => /-told=/.test(line))
  assert.match(told!, /HttpOnly/i)
  const other = await openConsole(house)
  const value = told!.split(';')[0]!
  const shown = await other.browser.get(home, { cookie: `${other.browser.cookieHeader}; ${value}` })
  assert.equal(toldBy(shown), undefined, 'sealed for one person')
  const session = [...admin.browser.cookies].find(([name]) => name.endsWith('-session'))!.join('=')
  for (const forged of ['countersign-live-told=x', `${value}x`, 'countersign-live-told=%00'])
    assert.equal((await admin.browser.get(home, { cookie: `${session}; ${forged}` })).status, 200)
})
