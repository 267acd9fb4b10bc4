/**
 * The address that notices go to: its owner's to see and change, minutes after a sign-in, and never
 * unnoticed.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { addMember } from '../../src/partners/partner.ts'
import { linkUser } from '../../src/provisioning/link.ts'
import { provision } from '../../src/provisioning/provisioning.ts'
import { findMail, setEmail } from '../../src/users/email.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { ask } from '../support/ask.ts'
import { openHouse, password } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { makeReader, noticesOf } from '../support/notices.ts'
import { secretFile } from '../support/process.ts'
import { assertGuarded, pathOf, signInWith } from '../support/web.ts'

const house = await openHouse({ ROLES: 'api' })
const line = await keepOpen(openCommandLineAt(house.settings))

const db = () => house.gateway.context.db
const page = '/account/security/notices'
const form = '/account/security/email'

test('a holder gives an address, sees it, and changes it; the address before is told', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  assert.match((await browser.get(page)).text, /You gave no address, so nothing is sent/)
  const given = await browser.submit(await browser.get(form), form, { email: ' ada@example.com ' })
  assert.equal(given.location, page)
  const shown = await browser.get(pathOf(given))
  assert.match(shown.text, /Your e-mail address is saved\.[\s\S]*ada@example\.com/)
  assertGuarded(shown, page)
  assert.deepEqual(await noticesOf(db(), user), [], 'there was nobody to tell')
  await browser.submit(await browser.get(form), form, { email: 'lovelace@example.com' })
  const [notice, ...more] = await noticesOf(db(), user)
  assert.deepEqual(more, [])
  assert.equal(notice!.email, 'ada@example.com')
  const { changed, byHolder, from, former } = notice!.facts
  assert.deepEqual([changed, byHolder, from, former], ['replaced', true, '127.0.0.1', true])
  assert.match(
    (await browser.get(page)).text,
    /Your e-mail address is changed or removed[\s\S]*to <span class="address">ada@example\.com/,
  )
  const entries = await findEntries(db(), { action: 'user.email_changed', subject: `user:${user.id}` })
  assert.deepEqual(
    entries.map(({ details }) => details),
    [{ change: 'replaced' }, { change: 'set' }],
  )
  assert.match((await browser.get('/account/history')).text, /You changed your e-mail address/)
})

test('a double click changes once and tells once; removing tells too, and then nothing more is written', async () => {
  const reader = await makeReader(house)
  const browser = await house.signIn(reader)
  const opened = await browser.get(form)
  const click = () => browser.submit(opened, form, { email: 'new@example.com' })
  const answers = await Promise.all([click(), click()])
  assert.deepEqual(
    answers.map(({ location }) => location),
    [page, page],
  )
  const told = async () => (await noticesOf(db(), reader)).filter(({ kind }) => kind === 'address')
  assert.equal((await told()).length, 1)
  const removed = await browser.submit(await browser.get(form), `${form}/remove`, {})
  assert.equal(removed.location, page)
  assert.deepEqual(
    (await told()).map(({ email, facts }) => [email, facts.changed]),
    [
      [reader.email, 'replaced'],
      ['new@example.com', 'removed'],
      [reader.email, 'removed'],
    ],
  )
  await house.approve(await house.makeClient(), browser)
  assert.deepEqual(
    (await noticesOf(db(), reader)).filter(({ kind }) => kind === 'application'),
    [],
  )
})

test('of two changes at once both of the addresses that were replaced are told', async () => {
  const reader = await makeReader(house)
  const change = (email: string) => setEmail(db(), reader, email, house.act())
  await Promise.all([change('one@example.com'), change('two@example.com')])
  const told = (await noticesOf(db(), reader)).map(({ email }) => email)
  const { email } = (await findMail(db(), reader.id))!
  const loser = email === 'one@example.com' ? 'two@example.com' : 'one@example.com'
  assert.deepEqual(
    told.toSorted(),
    [loser, reader.email, reader.email].sort(),
    'the first of all is told of both',
  )
})

test('who changes the address does not divert what was written before', async () => {
  const reader = await makeReader(house)
  const browser = await house.signIn(reader)
  await browser.submit(await browser.get(form), form, { email: 'thief@example.com' })
  const rows = await noticesOf(db(), reader)
  assert.deepEqual(
    rows.map(({ kind, email }) => [kind, email]),
    [
      ['sign-in', reader.email],
      ['address', reader.email],
    ],
  )
})

test('a change needs a sign-in minutes ago, and leads back to the form', async () => {
  const reader = await makeReader(house)
  const browser = await house.signIn(reader)
  const opened = await browser.get(form)
  house.clock.advance(6 * minute)
  for (const action of [form, `${form}/remove`]) {
    const late = await browser.submit(opened, action, { email: 'thief@example.com' })
    assert.equal(late.location, `/login?return=${encodeURIComponent(form)}&confirm=1`)
  }
  assert.equal((await findMail(db(), reader.id))!.email, reader.email)
  assert.equal((await browser.get(form)).status, 303)
  const again = await signInWith(browser, reader.username, {
    path: `/login?return=${encodeURIComponent(form)}&confirm=1`,
  })
  assert.equal(again.location, form)
  assert.equal((await browser.get(form)).status, 200)
})

test('what is no address is refused beside its field, and what was typed stays', async () => {
  const browser = await house.signIn(await house.makeUser())
  const opened = await browser.get(form)
  const wrong = [
    '',
    'ada',
    'ada@',
    '@example.com',
    'ada@localhost',
    'ada@example.com\r\nBcc: all@example.com',
    'ada@example.com, all@example.com',
    'Ada <ada@example.com>',
    '"a b"@example.com',
    'ada@exämple.com',
    'ada@-example.com',
    '.ada@example.com',
    `${'a'.repeat(65)}@example.com`,
    '<script>alert(1)</script>@example.com',
  ]
  for (const email of wrong) {
    const answer = await browser.submit(opened, form, { email })
    assert.equal(answer.status, 400, email)
    assert.match(
      answer.text,
      /aria-invalid="true"[\s\S]*It must be an e-mail address such as ada@example\.com\./,
    )
    assert.doesNotMatch(answer.text, /<script>/)
  }
  assert.match((await browser.submit(opened, form, { email: 'ada@' })).text, /value="ada@"/)
  const long = await browser.submit(opened, form, { email: `ada@${'a.'.repeat(130)}com` })
  assert.equal(long.status, 400)
  assert.match(long.text, /It must have at most 254 characters\./)
})

test('only a member of a partner chooses, and what guards the account cannot be declined', async () => {
  const reader = await makeReader(house)
  const browser = await house.signIn(reader)
  assert.doesNotMatch((await browser.get(page)).text, /name="kind"/)
  await addMember(db(), await house.makePartner(), reader, house.act())
  const shown = await browser.get(page)
  assert.equal(shown.text.match(/name="kind" value="[a-z-]+" checked/g)!.length, 8)
  const chosen = await browser.submit(shown, page, { kind: ['webhook-disabled', 'nonsense'] })
  assert.equal(chosen.location, page)
  const { declinedNotices } = (await findMail(db(), reader.id))!
  assert.deepEqual(declinedNotices, [
    ...['webhook-failing', 'webhook-recovered', 'secret-expiring', 'partner-decided', 'partner-message'],
    ...['client-profile', 'member-joined'],
  ])
  await browser.submit(shown, page, {})
  await house.approve(await house.makeClient(), browser)
  assert.equal((await noticesOf(db(), reader)).filter(({ kind }) => kind === 'application').length, 1)
})

test('a form without its token changes nothing, and nobody sees the address of another', async () => {
  const [reader, other] = [await makeReader(house), await makeReader(house)]
  const browser = await house.signIn(other)
  for (const action of [form, `${form}/remove`, page])
    assert.equal((await browser.post(action, { email: 'thief@example.com' })).status, 403, action)
  assert.equal((await findMail(db(), other.id))!.email, other.email)
  for (const path of [page, form, '/account/security'])
    assert.ok(!(await browser.get(path)).text.includes(reader.email), path)
})

test('on the command line a user gets an address, another, and none; each is told', async () => {
  const username = `cli-${makeUpWord()}`
  const { id } = await line.read<{ id: string }>(
    'user',
    'create',
    '--username',
    username,
    '--name',
    'Ada',
    '--password-file',
    secretFile(password),
    '--email',
    'ada@example.com',
  )
  assert.equal((await line.read('user', 'show', username)).email, 'ada@example.com')
  assert.equal(
    (await line.read('user', 'set-email', username, '--email', 'new@example.com')).email,
    'new@example.com',
  )
  assert.equal((await line.read('user', 'set-email', username, '--none')).email, 'none')
  const rows = await noticesOf(db(), { id })
  assert.deepEqual(
    rows.map(({ email, facts }) => [email, facts.byHolder]),
    [
      ['ada@example.com', false],
      ['ada@example.com', false],
      ['new@example.com', false],
    ],
  )
  for (const words of [['--email', 'nonsense'], [], ['--none', '--email', 'a@example.com']])
    assert.notEqual((await line.run('user', 'set-email', username, ...words)).code, 0)
  const refused = await line.run(
    'user',
    'create',
    '--username',
    `${username}x`,
    '--name',
    'Ada',
    '--email',
    'nonsense',
  )
  assert.match(refused.stderr, /email must be an e-mail address/)
})

test('whoever changes an address, the one before is told: a source, a hand in SQL, and whatever else writes it', async () => {
  const reader = await makeReader(house)
  const name = { source: 'core', environment: 'live', externalId: reader.id } as const
  await linkUser(db(), reader, name, house.act())
  const act = { by: { name: 'service:core', requestId: 'r-7', address: '192.0.2.7' }, at: house.clock.now() }
  const record = { kind: 'customer', op: 'upsert', externalId: reader.id, name: 'Ada' } as const
  await provision(db(), name, { ...record, version: 1 }, act)
  assert.deepEqual(await noticesOf(db(), reader), [], 'an address that is left out stays as it is')
  await provision(db(), name, { ...record, version: 2, email: 'source@example.com' }, act)
  // By the time of the server, which this house's clock is far behind: the first address is one of long ago.
  await ask(db(), "UPDATE users SET email = 'hand@example.com' WHERE id = $1", [reader.id])
  await provision(db(), name, { ...record, version: 3, email: '' }, act)
  const told = await noticesOf(db(), reader)
  assert.deepEqual(
    told.map(({ email, facts }) => [email, facts.changed, facts.byHolder, facts.from]),
    [
      [reader.email, 'replaced', false, null],
      ['source@example.com', 'replaced', false, null],
      ['hand@example.com', 'removed', false, null],
      [reader.email, 'removed', false, null],
      ['source@example.com', 'removed', false, null],
    ],
  )
  const entries = await findEntries(db(), { action: 'user.email_changed', subject: `user:${reader.id}` })
  const [role] = await ask<{ name: string }>(db(), 'SELECT session_user::text AS name')
  assert.deepEqual(
    entries.map(({ actor, requestId, details }) => [actor, requestId, details.change]),
    [
      ['service:core', 'r-7', 'removed'],
      [`role:${role!.name}`, null, 'replaced'],
      ['service:core', 'r-7', 'replaced'],
      ['operator:test', null, 'set'],
    ].map(([actor, ...more]) => [actor === 'operator:test' ? house.act().by.name : actor, ...more]),
  )
})
