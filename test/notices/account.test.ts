/**
 * What account holders are told: a sign-in from a new device and a new application, each once, whoever races.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, minute } from '../../src/clock.ts'
import type { Sql } from '../../src/database/database.ts'
import { revokeAuthorization } from '../../src/oauth/authorization.ts'
import { tellOfSignIn } from '../../src/users/sign-in-notice.ts'
import type { User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { Browser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeReader, noticesOf } from '../support/notices.ts'
import { openSecondNode } from '../support/oauth.ts'
import { makeApp, sendSecond, setUpApp } from '../support/second-factor.ts'
import { approveForm, guess, openConsent, signInWith } from '../support/web.ts'

const house = await openHouse({ TRUST_PROXY: '127.0.0.1', ROLES: 'api' })
const second = await keepOpen(openSecondNode(house))

const db = () => house.gateway.context.db
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0'
const told = async (user: User, kind: string) =>
  (await noticesOf(db(), user)).filter((row) => row.kind === kind)

function signInFrom(
  user: User,
  address: string,
  userAgent = firefox,
  origin = house.baseUrl,
): Promise<unknown> {
  const headers = { 'user-agent': userAgent, 'x-forwarded-for': address }
  return signInWith(new Browser(origin), user.username, { headers })
}

test('a sign-in from a device that was not seen before is told, and the next from the same one is not', async () => {
  const reader = await makeReader(house)
  const browser = new Browser(house.baseUrl)
  await signInWith(browser, reader.username, {
    headers: { 'user-agent': firefox, 'x-forwarded-for': '192.0.2.7' },
  })
  const [notice, ...more] = await told(reader, 'sign-in')
  assert.deepEqual(more, [])
  assert.equal(notice!.email, reader.email)
  assert.deepEqual(notice!.facts, { environment: 'live', address: '192.0.2.7', userAgent: firefox })
  house.clock.advance(day)
  await signInWith(browser, reader.username, {
    headers: { 'user-agent': 'another', 'x-forwarded-for': '192.0.2.8' },
  })
  assert.equal((await told(reader, 'sign-in')).length, 1, 'its cookie says that it was seen')
  await signInWith(browser, reader.username, { path: '/login?confirm=1' })
  assert.equal((await told(reader, 'sign-in')).length, 1, 'a confirmation is no sign-in')
})

test('sign-ins of one new device at once, on two nodes, are told once; of two devices, twice', async () => {
  const reader = await makeReader(house)
  await Promise.all([
    ...[house.baseUrl, second.baseUrl, house.baseUrl, second.baseUrl].map((origin) =>
      signInFrom(reader, '192.0.2.7', firefox, origin),
    ),
    signInFrom(reader, '198.51.100.9'),
  ])
  const addresses = (await told(reader, 'sign-in')).map(({ facts }) => facts.address)
  assert.deepEqual(addresses.sort(), ['192.0.2.7', '198.51.100.9'])
  house.clock.advance(10 * minute)
  await signInFrom(reader, '192.0.2.7')
  assert.equal((await told(reader, 'sign-in')).length, 3, 'later it is told again')
})

test('of two sign-ins whose transactions overlap the second waits for the first, and finds it told', async () => {
  const reader = await makeReader(house)
  const browser = { address: '192.0.2.7', userAgent: firefox }
  const tell = (sql: Sql) => tellOfSignIn(sql, reader.id, 'live', browser, house.clock.now())
  const [hasTold, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = db().transaction(async (sql) => {
    await tell(sql)
    hasTold.resolve()
    await mayEnd.promise
  })
  await hasTold.promise
  const second = db().transaction(tell)
  const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
  // Without a lock the second would be through, having told as well.
  await Promise.race([
    second,
    eventually('the second waits', async () => (await ask(db(), waiting)).length > 0),
  ])
  mayEnd.resolve()
  await Promise.all([first, second])
  assert.equal((await told(reader, 'sign-in')).length, 1)
})

test("another user's device cookie makes no device known", async () => {
  const [reader, other] = [await makeReader(house), await makeReader(house)]
  const browser = new Browser(house.baseUrl)
  await signInWith(browser, other.username)
  await signInWith(browser, reader.username, { path: '/login?confirm=1' })
  assert.equal((await told(reader, 'sign-in')).length, 1)
})

test('a password alone, where a second factor is wanted, is no sign-in and is not told; both are', async () => {
  const reader = await makeReader(house)
  const { secret } = await setUpApp(house, await house.signIn(reader))
  const before = (await told(reader, 'sign-in')).length
  house.clock.advance(20 * minute)
  const browser = new Browser(house.baseUrl)
  await signInWith(browser, reader.username, { headers: { 'x-forwarded-for': '203.0.113.5' } })
  assert.equal((await told(reader, 'sign-in')).length, before)
  assert.equal((await sendSecond(browser, { code: makeApp(house, secret).code() })).status, 303)
  assert.equal((await told(reader, 'sign-in')).length, before + 1)
})

test('nobody is told of a sign-in that failed, and who has no address signs in untold', async () => {
  const reader = await makeReader(house)
  await guess(house, reader.username)
  assert.deepEqual(await noticesOf(db(), reader), [])
  const silent = await house.makeUser()
  await house.signIn(silent)
  await house.approve(await house.makeClient(), await house.signIn(silent))
  assert.deepEqual(await noticesOf(db(), silent), [])
})

test('a sign-in that is undone tells nothing', async () => {
  const reader = await makeReader(house)
  // The last thing that a sign-in writes is its session.
  await ask(db(), `ALTER TABLE sessions ADD CONSTRAINT no_more CHECK (user_agent <> 'undone') NOT VALID`)
  const headers = { 'user-agent': 'undone', 'x-forwarded-for': '192.0.2.7' }
  const answer = await signInWith(new Browser(house.baseUrl), reader.username, { headers })
  await ask(db(), 'ALTER TABLE sessions DROP CONSTRAINT no_more')
  assert.equal(answer.status, 500)
  assert.deepEqual(await noticesOf(db(), reader), [])
})

test('twenty notices of a kind go to a person in a day, and more the day after', async () => {
  const reader = await makeReader(house)
  for (let n = 0; n < 22; n++) await signInFrom(reader, `192.0.2.${n}`)
  assert.equal((await told(reader, 'sign-in')).length, 20)
  await house.approve(await house.makeClient(), await house.signIn(reader))
  assert.equal((await told(reader, 'application')).length, 1, 'another kind is told')
  house.clock.advance(day)
  await signInFrom(reader, '192.0.2.99')
  assert.equal((await told(reader, 'sign-in')).length, 21)
})

test('a new application is told once: not when it is approved again, and anew after it was revoked', async () => {
  const [reader, client] = [await makeReader(house), await house.makeClient()]
  const browser = await house.signIn(reader)
  await house.approve(client, browser, { scope: 'read market' })
  const [notice] = await told(reader, 'application')
  const { client: name, scopes, environment, address } = notice!.facts
  assert.deepEqual(
    [name, scopes, environment, address],
    ['Portfolio Pal', ['read', 'market'], 'live', '127.0.0.1'],
  )
  await house.approve(client, browser, { scope: 'read stream' })
  assert.equal((await told(reader, 'application')).length, 1)
  const [living] = await ask<{ id: number }>(
    db(),
    'SELECT id FROM authorizations WHERE user_id = $1 AND revoked_at IS NULL',
    [reader.id],
  )
  await revokeAuthorization(db(), { id: living!.id, reason: 'test' }, house.act())
  await house.approve(client, browser)
  assert.equal((await told(reader, 'application')).length, 2)
})

test('an application that was told of long ago is not told of again when its notice is forgotten', async () => {
  const [reader, client] = [await makeReader(house), await house.makeClient()]
  const browser = await house.signIn(reader)
  await house.approve(client, browser)
  await ask(db(), 'DELETE FROM notices WHERE user_id = $1', [reader.id])
  await house.approve(client, browser)
  assert.deepEqual(await told(reader, 'application'), [])
})

test('two approvals of one application at once are told once, and a denial is not told', async () => {
  const [reader, client, denied] = [
    await makeReader(house),
    await house.makeClient(),
    await house.makeClient(),
  ]
  const browsers = await Promise.all([house.signIn(reader), house.signIn(reader), house.signIn(reader)])
  const pages = await Promise.all(browsers.map((browser) => openConsent(browser, client)))
  const answers = await Promise.all(
    pages.map((page, index) => browsers[index]!.post('/consent', approveForm(page))),
  )
  assert.ok(answers.every(({ status }) => status === 303))
  const page = await openConsent(browsers[0]!, denied)
  await browsers[0]!.post('/consent', { ...approveForm(page), decision: 'deny' })
  assert.equal((await told(reader, 'application')).length, 1)
})

test('what is told holds no password, cookie, code or token', async () => {
  const [reader, client] = [await makeReader(house), await house.makeClient()]
  const browser = await house.signIn(reader)
  const code = (await house.approve(client, browser)).get('code')!
  const text = JSON.stringify(await noticesOf(db(), reader))
  const secrets = [password, code, client.secret, ...browser.cookies.values()].filter((value) => value !== '')
  assert.ok(secrets.length >= 5)
  for (const secret of secrets) assert.ok(!text.includes(secret))
})
