/**
 * Users in the console: found, locked out, let in again, and rid of whatever acts for them; each at once and
 * on every node.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { listAuthorizations } from '../../../src/oauth/authorization.ts'
import { addAccount } from '../../../src/users/account.ts'
import { listApiTokens } from '../../../src/users/api-token.ts'
import { listSessions } from '../../../src/users/session.ts'
import { createUser, getUserById, type User } from '../../../src/users/user.ts'
import { ask } from '../../support/ask.ts'
import { type Answer, Browser, hiddenFields, send } from '../../support/browser.ts'
import { makeAdministrator, openConsole, press, turnPages } from '../../support/console.ts'
import { openHouse, password, type TokenBody } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { hears, openSecondNode } from '../../support/oauth.ts'
import { makeGuardedUser } from '../../support/second-factor.ts'
import { guess, isSignedIn, sessionCookie, signInWith } from '../../support/web.ts'

const house = await openHouse()
const second = await keepOpen(openSecondNode(house))
const admin = await openConsole(house)

const home = ({ id }: User) => `/console/users/${id}`
const statusOf = async ({ id }: User) => (await getUserById(house.gateway.context.db, id)).status

function makeNamed(name: string, username: string): Promise<User> {
  const { db, passwords } = house.gateway.context
  return createUser(db, passwords, { username, name, password, role: 'holder' }, house.act())
}

function usernamesIn({ text }: Answer): string[] {
  return [...text.matchAll(/<td[^>]*><a href="\/console\/users\/id-[a-z0-9]+">([^<]*)</g)].map(
    (match) => match[1]!,
  )
}

/** What each node says to the token, asked twice, so that each has it in its memory. */
async function statusesOf(token: string): Promise<number[]> {
  const ask = (url: string) =>
    send(`${url}/v1/user/profile`, {
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    })
  const urls = [house.baseUrl, second.baseUrl]
  await Promise.all(urls.map(ask))
  return (await Promise.all(urls.map(ask))).map(({ status }) => status)
}

async function connect(user: User): Promise<{ token: string; authorization: number }> {
  const client = await house.makeClient()
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const [approval] = await listAuthorizations(house.gateway.context.db, { userId: user.id })
  return { token: access_token, authorization: approval!.id }
}

const reason = 'Asked for in ticket 12.'

test('users are found by username, by the words of their name, by id and by account number', async () => {
  const { db } = house.gateway.context
  const user = await makeNamed("Grace O'Hopper-Murray", 'amazing.grace@navy.example')
  const account = { accountNumber: '6YA98765', environment: 'live', classification: 'individual' } as const
  const rest = { dayTrader: false, optionLevel: 1, type: 'cash' } as const
  await addAccount(db, user, { ...account, ...rest }, house.act())
  const find = async (text: string) =>
    usernamesIn(await admin.browser.get(`/console/users?q=${encodeURIComponent(text)}`))
  for (const text of [
    'amazing',
    'AMAZING.grace@',
    'grace',
    'hopper',
    'murr grac',
    "O'Hopper",
    user.id,
    '6ya98765',
  ])
    assert.deepEqual(await find(text), [user.username], text)
  for (const text of ['race', 'hopper ada', '6YA9876', user.id.slice(0, 8), '%', '_mazing', '~'])
    assert.deepEqual(await find(text), [], text)
})

test('every user is on one page and on one only', async () => {
  const { db } = house.gateway.context
  const text = `INSERT INTO users (id, username, name, password_hash, role, created_at, updated_at)
    SELECT 'id-' || lpad(n::text, 12, '0'), 'crowd' || n, 'Member Ofcrowd', 'none', 'holder', now(), now()
    FROM generate_series(1, 130) AS n`
  await ask(db, text)
  for (const [query, condition] of [
    ['', 'true'],
    ['q=crowd', "username LIKE 'crowd%'"],
    ['q=ofcrowd', "username LIKE 'crowd%'"],
  ]) {
    const seen = (await turnPages(admin.browser, `/console/users?${query}`)).flatMap(usernamesIn)
    const [all] = await ask<{ count: number }>(db, `SELECT count(*) FROM users WHERE ${condition}`)
    assert.equal(new Set(seen).size, all!.count, query)
    assert.equal(seen.length, all!.count, query)
  }
})

test('a locked user is out everywhere with the next request; unlocked, tokens work again and sessions do not', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const tokens = [await house.makeToken(user), (await connect(user)).token]
  for (const token of tokens) assert.deepEqual(await statusesOf(token), [200, 200])
  const heard = hears(second, `user:${user.id}`)
  const page = await admin.browser.get(home(user))
  assert.match(page.text, /Locking ends every session at once/)
  const locked = await admin.browser.submit(page, `${home(user)}/lock`, { reason })
  for (const token of tokens) assert.equal((await house.profile(token)).status, 401)
  assert.equal(await isSignedIn(browser), false)
  await heard
  for (const token of tokens) assert.deepEqual(await statusesOf(token), [401, 401])
  assert.equal((await signInWith(new Browser(house.baseUrl), user.username)).status, 401)
  assert.match((await admin.browser.get(locked.location!)).text, /The user is locked out\./)

  await admin.browser.submit(page, `${home(user)}/lock`, { reason })
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'user.disabled',
  })
  assert.deepEqual(
    entries.map(({ actor, address }) => [actor, address]),
    [[`user:${admin.user.id}`, '127.0.0.1']],
    'locked once, by the operator',
  )

  await press(admin.browser, home(user), '/unlock')
  for (const token of tokens) assert.equal((await house.profile(token)).status, 200)
  assert.equal(await isSignedIn(browser), false)
  assert.equal(await isSignedIn(await house.signIn(user)), true)
})

test('operators cannot lock out themselves', async () => {
  const page = await admin.browser.get(home(admin.user))
  assert.match(page.text, /This is you\./)
  assert.equal(page.text.includes('/lock"'), false)
  const { csrf } = hiddenFields(page.text, '/logout')
  const answer = await admin.browser.post(`${home(admin.user)}/lock`, { csrf: csrf!, reason })
  assert.equal(answer.status, 409)
  assert.match(answer.text, /role="alert"><p>You cannot lock out yourself/)
  assert.equal(await statusOf(admin.user), 'active')
})

test('of two operators who lock out each other at the same moment, one stays', async () => {
  for (let round = 0; round < 5; round++) {
    const [one, other] = [await openConsole(house), await openConsole(house)]
    const pages = [await one.browser.get(home(other.user)), await other.browser.get(home(one.user))]
    await Promise.all([
      one.browser.submit(pages[0]!, `${home(other.user)}/lock`, { reason }),
      other.browser.submit(pages[1]!, `${home(one.user)}/lock`, { reason }),
    ])
    assert.deepEqual([await statusOf(one.user), await statusOf(other.user)].sort(), ['active', 'disabled'])
  }
})

test('an operator closes one session of a user, or all, and nobody else’s', async () => {
  const { db } = house.gateway.context
  const [user, other] = [await house.makeUser(), await house.makeUser()]
  const [first, next, foreign] = [
    await house.signIn(user),
    await house.signIn(user),
    await house.signIn(other),
  ]
  const [newest] = await listSessions(db, user.id, house.clock.now())
  const [theirs] = await listSessions(db, other.id, house.clock.now())
  const page = await admin.browser.get(home(user))
  for (const browser of [first, next]) assert.equal(page.text.includes(sessionCookie(browser)), false)
  const close = (session: number) =>
    press(admin.browser, home(user), '/sessions/close', { session: String(session) })
  await close(theirs!.id)
  assert.equal(await isSignedIn(foreign), true)
  await close(newest!.id)
  assert.deepEqual([await isSignedIn(first), await isSignedIn(next)], [true, false])
  await house.signIn(user)
  const done = await press(admin.browser, home(user), '/sessions/close/all')
  assert.match((await admin.browser.get(done.location!)).text, /Signed in nowhere\./)
  assert.deepEqual([await isSignedIn(first), await isSignedIn(foreign)], [false, true])
})

test('a token is revoked on every node, and not through the page of somebody else', async () => {
  const { db } = house.gateway.context
  const [user, other] = [await house.makeUser(), await house.makeUser()]
  const [token, foreign] = [await house.makeToken(user), await house.makeToken(other)]
  const [own] = await listApiTokens(db, user.id)
  const [theirs] = await listApiTokens(db, other.id)
  assert.deepEqual(await statusesOf(token), [200, 200])
  assert.deepEqual(await statusesOf(foreign), [200, 200])
  const page = await admin.browser.get(home(user))
  assert.equal(page.text.includes(token), false)
  await admin.browser.submit(page, `${home(user)}/tokens/revoke`, { reason, token: String(theirs!.id) })
  assert.deepEqual(await statusesOf(foreign), [200, 200])
  const heard = hears(second, `api_token:${own!.id}`)
  await admin.browser.submit(page, `${home(user)}/tokens/revoke`, { reason })
  assert.equal((await house.profile(token)).status, 401)
  await heard
  assert.deepEqual(await statusesOf(token), [401, 401])
  const twice = await admin.browser.submit(page, `${home(user)}/tokens/revoke`, { reason })
  assert.equal(twice.location, home(user))
})

test('the access of an application is ended on every node, and not through the page of somebody else', async () => {
  const [user, other] = [await house.makeUser(), await house.makeUser()]
  const [own, theirs] = [await connect(user), await connect(other)]
  for (const { token } of [own, theirs]) assert.deepEqual(await statusesOf(token), [200, 200])
  const page = await admin.browser.get(home(user))
  const revoke = (authorization: number) =>
    admin.browser.submit(page, `${home(user)}/applications/revoke`, {
      reason,
      authorization: String(authorization),
    })
  await revoke(theirs.authorization)
  assert.deepEqual(await statusesOf(theirs.token), [200, 200])
  const heard = hears(second, `authorization:${own.authorization}`)
  await revoke(own.authorization)
  assert.equal((await house.profile(own.token)).status, 401)
  await heard
  assert.deepEqual(await statusesOf(own.token), [401, 401])
})

test('second factors that were lost are taken back, by an operator who has just entered a password', async () => {
  const { user, browser } = await makeGuardedUser(house)
  const late = await openConsole(house)
  const page = await late.browser.get(home(user))
  assert.match(page.text, /Authenticator app<\/strong><br><span class="faint">since <time/)
  house.clock.advance(6 * 60_000)
  const stale = await late.browser.submit(page, `${home(user)}/factors/reset`, { reason })
  assert.equal(stale.location, `/login?return=${encodeURIComponent(home(user))}&confirm=1`)
  assert.match((await signInWith(new Browser(house.baseUrl), user.username)).location!, /^\/login\/second/)
  const confirmed = await signInWith(late.browser, late.user.username, { path: stale.location! })
  assert.equal(confirmed.location, home(user))
  const done = await press(late.browser, home(user), '/factors/reset')
  assert.match((await late.browser.get(done.location!)).text, /None: the password is all it takes/)
  assert.equal(await isSignedIn(browser), false)
  assert.equal(await isSignedIn(await house.signIn(user)), true)
})

test('operators do not reset their own second factors here', async () => {
  const { user, browser } = await makeGuardedUser(house)
  await makeAdministrator(house, user)
  const page = await browser.get(home(user))
  const { csrf } = hiddenFields(page.text, '/logout')
  assert.equal((await browser.post(`${home(user)}/factors/reset`, { csrf: csrf!, reason })).status, 409)
  assert.match((await signInWith(new Browser(house.baseUrl), user.username)).location!, /^\/login\/second/)
})

test('a user whom somebody else’s guesses keep waiting may try again at once', async () => {
  const [admin, user] = [await openConsole(house), await house.makeUser()]
  for (let time = 0; time < 5; time++) await guess(house, user.username)
  assert.equal((await guess(house, user.username, password)).status, 401)
  const page = await admin.browser.get(home(user))
  assert.match(page.text, /sign-in is refused until <time/)
  await admin.browser.submit(page, `${home(user)}/throttle/lift`, {})
  assert.match((await admin.browser.get(home(user))).text, /None in the last minutes\./)
  assert.equal((await guess(house, user.username, password)).status, 303)
  const [entry] = await findEntries(house.gateway.context.db, { action: 'session.wait_lifted' })
  assert.deepEqual([entry!.actor, entry!.subject], [`user:${admin.user.id}`, `user:${user.id}`])
})

test('a username that looks like the id of somebody else leads to nobody else’s page', async () => {
  const [admin, user] = [await openConsole(house), await house.makeUser()]
  const lookalike = { ...(await makeNamed('Mallory Mask', 'mallory-mask')), username: user.id }
  // No such row can be made: should there be one all the same, it leads nowhere.
  const { db } = house.gateway.context
  await db.script('ALTER TABLE users DROP CONSTRAINT users_username_is_no_id')
  await db.script(`UPDATE users SET username = '${user.id}' WHERE id = '${lookalike.id}'`)
  const page = await admin.browser.get(home(user))
  assert.equal(page.text.includes('Mallory Mask'), false)
  await press(admin.browser, home(user), '/lock')
  assert.deepEqual([await statusOf(user), await statusOf(lookalike)], ['disabled', 'active'])
  for (const id of [
    lookalike.username.replace('id-', 'ID-'),
    admin.user.username,
    'id-none',
    '%00',
    'x'.repeat(99),
  ])
    assert.equal((await admin.browser.get(`/console/users/${id}`)).status, 404, id)
})

test('holders read what an operator did, and not from where; operators do not read it as done to themselves', async () => {
  const user = await house.makeUser(undefined, [])
  await house.signIn(user)
  const acting = await openConsole(house)
  await press(acting.browser, home(user), '/sessions/close/all')
  await press(acting.browser, home(user), '/lock')
  await press(acting.browser, home(user), '/unlock')
  const history = (await (await house.signIn(user)).get('/account/history')).text
  const told = [...history.matchAll(/<strong>([^<]*)<\/strong>[\s\S]*?<span class="faint">(.*?)<\/span>/g)]
  assert.deepEqual(
    told.slice(1, 4).map(([, title, rest]) => [title, rest!.includes('127.0.0.1')]),
    [
      ['The brokerage unlocked your access', false],
      ['The brokerage locked your access', false],
      ['The brokerage signed you out everywhere', false],
    ],
  )
  const own = (await acting.browser.get('/account/history')).text
  assert.doesNotMatch(own, /locked your access|signed you out/)
  assert.match(own, new RegExp(`<strong>You locked ${user.name}</strong>`))
  const stranger = await house.signIn(await house.makeOperator())
  assert.doesNotMatch((await stranger.get('/account/history')).text, new RegExp(`${user.id}|${user.name}`))
})
