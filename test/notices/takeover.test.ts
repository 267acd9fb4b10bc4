/**
 * What would hand an account to somebody else is told to its owner: whoever does it, each time, also at the
 * address of before.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { day, hour, minute } from '../../src/clock.ts'
import type { Sql } from '../../src/database/database.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { noticeWords } from '../../src/notices/notice-words.ts'
import { createApiToken, revokeApiToken } from '../../src/users/api-token.ts'
import { findMail, setEmail } from '../../src/users/email.ts'
import {
  removeAuthenticatorApp,
  renewRecoveryCodes,
  resetSecondFactor,
} from '../../src/users/second-factor.ts'
import { setPassword, type User } from '../../src/users/user.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { ask } from '../support/ask.ts'
import { Authenticator, addKey } from '../support/authenticator.ts'
import { Browser } from '../support/browser.ts'
import { openConsole, press } from '../support/console.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeReader, type NoticeRow, noticesOf } from '../support/notices.ts'
import { sendSecond, setUpApp, startSignIn } from '../support/second-factor.ts'
import { signInWith } from '../support/web.ts'

const house = await openHouse({ ROLES: 'api', HOST: 'localhost', TRUST_PROXY: '127.0.0.1,::1' })
const line = await keepOpen(openCommandLineAt(house.settings))

type Reader = User & { email: string }

const db = () => house.gateway.context.db
const now = () => house.clock.now()
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0'
const addresses = { live: 'https://api.broker.example', sandbox: 'https://sandbox.broker.example' }
const guards = ['address', 'password', 'second-factor', 'recovery-codes', 'api-token']

const told = async (user: User) => (await noticesOf(db(), user)).filter(({ kind }) => guards.includes(kind))
const kindsTo = (rows: readonly NoticeRow[]) => rows.map(({ kind, email }) => [kind, email])
const wordsOf = (row: NoticeRow, user: User) =>
  noticeWords(
    { ...row, name: user.name, key: 'k' } as unknown as Parameters<typeof noticeWords>[0],
    addresses,
    house.gateway.context.vault,
  )

/** Somebody at a browser whose address and device a notice can name. */
class Visitor extends Browser {
  override get(path: string, headers: Record<string, string> = {}) {
    return super.get(path, { ...this.#place, ...headers })
  }
  override post(path: string, fields: Parameters<Browser['post']>[1], headers: Record<string, string> = {}) {
    return super.post(path, fields, { ...this.#place, ...headers })
  }
  readonly #place = { 'user-agent': firefox, 'x-forwarded-for': '192.0.2.7' }
}

async function visit(user: User): Promise<Browser> {
  const browser = new Visitor(house.baseUrl)
  await signInWith(browser, user.username)
  return browser
}

const newPassword = 'quite another battery'

/** What each does as its owner, at a browser, and what is told of it. */
const byHolder: Record<
  string,
  {
    prepare?: (reader: Reader) => Promise<unknown>
    act: (browser: Browser) => Promise<unknown>
    kinds: string[]
    says: RegExp
  }
> = {
  'a password': {
    act: (browser) =>
      press(browser, '/account/password', '', { current: password, next: newPassword, again: newPassword }),
    kinds: ['password'],
    says: /^The password of your account was changed\./m,
  },
  'an authenticator app that is set up': {
    act: (browser) => setUpApp(house, browser),
    kinds: ['second-factor', 'recovery-codes'],
    says: /^A second factor was added to your account: authenticator app\./m,
  },
  'a passkey that is added': {
    act: (browser) => addKey(browser, new Authenticator(house.baseUrl), {}, 'Blue key'),
    kinds: ['second-factor', 'recovery-codes'],
    says: /^A second factor was added to your account: passkey “Blue key”\./m,
  },
  'an API token': {
    act: (browser) => press(browser, '/account/api', '/tokens', { name: 'my program', environment: 'live' }),
    kinds: ['api-token'],
    says: /^An API token was made for your account\./m,
  },
}

for (const [what, { act, kinds, says }] of Object.entries(byHolder)) {
  test(`${what} of a holder is told: what, when, from where, and what to do`, async () => {
    const reader = await makeReader(house)
    const browser = await visit(reader)
    await act(browser)
    const rows = await told(reader)
    assert.deepEqual(
      kindsTo(rows),
      kinds.map((kind) => [kind, reader.email]),
    )
    const { text } = wordsOf(rows[0]!, reader)
    assert.match(text, says)
    assert.match(text, /By: +somebody who was signed in to your account/)
    assert.match(text, /From: +192\.0\.2\.7/)
    assert.match(text, /Device: +Firefox on Linux/)
    assert.match(text, /When: +\d+ \w+ 2026, \d\d:\d\d UTC/)
    assert.match(text, /If it was you, there is nothing to do\. If it was not[\s\S]*call the brokerage/)
  })
}

test('a factor that its owner removes, and recovery codes that are made anew, are told', async () => {
  const reader = await makeReader(house)
  const browser = await visit(reader)
  const app = await setUpApp(house, browser, -1)
  await startSignIn(house, reader, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  const before = (await told(reader)).length
  await press(browser, '/account/security', '/recovery')
  await press(browser, '/account/security', '/app/remove')
  const rows = (await told(reader)).slice(before)
  assert.deepEqual(kindsTo(rows), [
    ['recovery-codes', reader.email],
    ['second-factor', reader.email],
  ])
  assert.match(wordsOf(rows[0]!, reader).text, /^New recovery codes were made for your account\./m)
  assert.match(
    wordsOf(rows[1]!, reader).text,
    /^A second factor was removed from your account: authenticator app\./m,
  )
})

test('what an operator does in the console or at the command line is told, as the brokerage, without its address', async () => {
  const reader = await makeReader(house)
  await setUpApp(house, await visit(reader))
  const before = (await told(reader)).length
  const admin = await openConsole(house)
  await press(admin.browser, `/console/users/${reader.id}`, '/factors/reset')
  await line.read('user', 'password', reader.id)
  await line.read('user', 'reset-second-factor', reader.id)
  await line.read('token', 'create', '--user', reader.id, '--name', 'made for them')
  const rows = (await told(reader)).slice(before)
  assert.deepEqual(kindsTo(rows), [
    ['second-factor', reader.email],
    ['password', reader.email],
    ['second-factor', reader.email],
    ['api-token', reader.email],
  ])
  for (const row of rows) {
    const { text } = wordsOf(row, reader)
    assert.match(text, /By: +the brokerage/)
    assert.doesNotMatch(text, /From:|Device:/)
    assert.match(text, /If you did not ask for this, call the brokerage/)
  }
  assert.match(
    wordsOf(rows[0]!, reader).text,
    /^Every second factor and recovery code of your account was removed\./m,
  )
})

test('whoever changes the address first does not silence its owner: the address before is told for 30 days of all that follows', async () => {
  const reader = await makeReader(house)
  const browser = await visit(reader)
  await press(browser, '/account/security/email', '', { email: 'thief@example.com' })
  await press(browser, '/account/api', '/tokens', { name: 'a way back', environment: 'live' })
  await press(browser, '/account/security/email', '', { email: 'other.thief@example.com' })
  await press(browser, '/account/security/email', '/remove', {})
  await press(browser, '/account/password', '', { current: password, next: newPassword, again: newPassword })
  const toOwner = (await told(reader)).filter(({ email }) => email === reader.email)
  assert.deepEqual(
    toOwner.map(({ kind }) => kind),
    ['address', 'api-token', 'address', 'address', 'password'],
  )
  assert.match(wordsOf(toOwner[1]!, reader).text, /This was the address of the account until lately/)
  house.clock.advance(30 * day - minute)
  const make = () => createApiToken(db(), reader, { environment: 'live', name: 'later' }, house.act())
  await make()
  assert.equal((await told(reader)).filter(({ email }) => email === reader.email).length, 6)
  house.clock.advance(2 * minute)
  await make()
  assert.equal((await told(reader)).filter(({ email }) => email === reader.email).length, 6, 'then no more')
  await removeDead(house.gateway.context)
  assert.deepEqual(await ask(db(), 'SELECT FROM former_emails WHERE user_id = $1', [reader.id]), [])
})

test('an address that is set again after it was taken away is told to the one before', async () => {
  const reader = await makeReader(house)
  await setEmail(db(), reader, undefined, house.act())
  await setEmail(db(), reader, 'thief@example.com', house.act())
  const rows = await told(reader)
  assert.deepEqual(
    rows.map(({ email, facts }) => [email, facts.changed]),
    [
      [reader.email, 'removed'],
      [reader.email, 'set'],
    ],
  )
})

test('a holder has five addresses in 30 days, so that nobody is told in thousands; one of them may be taken again, and the brokerage may set another', async () => {
  const reader = await makeReader(house)
  const act = { by: { name: `user:${reader.id}` }, at: now() }
  for (let n = 1; n <= 5; n++) await setEmail(db(), reader, `new-${n}@example.com`, act)
  const browser = await visit(reader)
  const refused = await press(browser, '/account/security/email', '', { email: 'one.more@example.com' })
  assert.equal(refused.status, 400)
  assert.match(
    refused.text,
    /It was changed five times in the last 30 days\. Take one of those addresses again/,
  )
  assert.equal((await findMail(db(), reader.id))!.email, 'new-5@example.com')
  await press(browser, '/account/security/email', '', { email: reader.email })
  assert.equal((await findMail(db(), reader.id))!.email, reader.email)
  await setEmail(db(), reader, 'by.phone@example.com', house.act())
  assert.equal((await findMail(db(), reader.id))!.email, 'by.phone@example.com')
})

test('whoever uses up the notices of a day silences nobody: further ones are told once an hour, of each kind and at each address', async () => {
  const reader = await makeReader(house)
  const make = () => createApiToken(db(), reader, { environment: 'live', name: 'one of many' }, house.act())
  const cycle = async () => revokeApiToken(db(), (await make()).record.id, reader.id, house.act())
  for (let n = 0; n < 25; n++) await cycle()
  const tokens = async (email: string) =>
    (await told(reader)).filter((row) => row.kind === 'api-token' && row.email === email)
  const first = await tokens(reader.email)
  assert.equal(first.length, 21, 'twenty, and one for all that follow within the hour')
  assert.match(wordsOf(first.at(-1)!, reader).text, /more than 20 of this kind in a day/)
  house.clock.advance(hour)
  for (let n = 0; n < 5; n++) await cycle()
  assert.equal((await tokens(reader.email)).length, 22)
  await setPassword(db(), house.gateway.context.passwords, reader, newPassword, house.act())
  assert.equal(
    (await told(reader)).filter(({ kind }) => kind === 'password').length,
    1,
    'another kind is told at once',
  )
  await setEmail(db(), reader, 'new@example.com', house.act())
  await cycle()
  assert.equal((await tokens('new@example.com')).length, 1, 'another address has had none')
})

test('what is undone is not told, and what happens once is told once, however many try', async () => {
  const reader = await makeReader(house)
  const browser = await visit(reader)
  const script = (text: string) => ask(db(), text)
  await script(`ALTER TABLE api_tokens ADD CONSTRAINT no_more CHECK (name <> 'undone') NOT VALID`)
  const failed = await press(browser, '/account/api', '/tokens', { name: 'undone', environment: 'live' })
  await script('ALTER TABLE api_tokens DROP CONSTRAINT no_more')
  assert.equal(failed.status, 500)
  assert.deepEqual(await told(reader), [])
  const app = await setUpApp(house, browser, -1)
  await startSignIn(house, reader, browser)
  assert.equal((await sendSecond(browser, { code: app.code() })).status, 303)
  const before = (await told(reader)).length
  const remove = () => removeAuthenticatorApp(db(), reader.id, house.act())
  await Promise.all([remove(), remove(), remove()])
  assert.equal((await told(reader)).length, before + 1)
  const change = { current: password, next: newPassword, again: newPassword }
  const page = await browser.get('/account/password')
  await Promise.all([1, 2, 3].map(() => browser.submit(page, '/account/password', change)))
  assert.equal((await told(reader)).length, before + 2)
})

test('an act that rolls back after its notice was written takes the notice along', async () => {
  const reader = await makeReader(house)
  const undone = new Error('undone')
  const within = (work: (inside: Sql) => Promise<unknown>) =>
    assert.rejects(
      db().transaction(async (sql) => {
        await work(sql)
        assert.notDeepEqual(await noticesOf(sql, reader), [])
        throw undone
      }),
      undone,
    )
  const { passwords } = house.gateway.context
  await within((inside) => createApiToken(inside, reader, { environment: 'live', name: 'x' }, house.act()))
  await within((inside) => setPassword(inside, passwords, reader, newPassword, house.act()))
  await within((inside) => resetSecondFactor(inside, reader, house.act()))
  await within((inside) => renewRecoveryCodes(inside, reader.id, house.act()))
  await within((inside) => setEmail(inside, reader, 'thief@example.com', house.act()))
  assert.deepEqual(await told(reader), [])
})

test('none of them can be declined, and the page says that they always come', async () => {
  const reader = await makeReader(house)
  const browser = await visit(reader)
  const page = '/account/security/notices'
  const shown = (await browser.get(page)).text
  for (const words of [
    'Your password is changed',
    'A second factor is added, removed or reset',
    'New recovery codes are made',
    'An API token is made',
  ])
    assert.ok(shown.includes(`<li>${words}</li>`), words)
  await ask(db(), 'UPDATE users SET declined_notices = $2 WHERE id = $1', [reader.id, guards])
  await createApiToken(db(), reader, { environment: 'live', name: 'x' }, house.act())
  assert.equal((await told(reader)).length, 1)
})
