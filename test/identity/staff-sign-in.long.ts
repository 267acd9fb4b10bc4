/**
 * Staff sign in at a provider of their own, and have the roles that it gives them, no longer than it does.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute } from '../../src/clock.ts'
import { checkAddresses } from '../../src/doctor/staff.ts'
import { linkByHand } from '../../src/identity/identity.ts'
import { findSession, openSession } from '../../src/users/session.ts'
import { listRolesOf } from '../../src/users/staff-role.ts'
import { countOperators } from '../../src/users/users.sql.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ REQUIRE_SECOND_FACTOR_FOR_OPERATORS: 'true' })
const { db } = house.gateway.context
const people = {
  'sub-olga': { groups: ['partners', 'audit', 'bowling'], name: 'Olga Operator' },
  'sub-guest': { groups: ['bowling'] },
  'sub-late': { groups: ['audit'] },
  ...Object.fromEntries(
    ['sub-una', 'sub-ulf', 'sub-uma', 'sub-uwe', 'sub-nora', 'sub-mia', 'sub-new'].map((who) => [
      who,
      { groups: ['audit'], name: `${who} Userinfo` },
    ]),
  ),
}
const upstream = await keepOpen(openUpstream(house, { name: 'staff', people }))
const roleMap = { partners: 'partner-manager', audit: 'auditor' } as const
const draft = { kind: 'staff', label: 'Staff ID', linkClaim: null, rolesClaim: 'groups', roleMap } as const
const provider = await registerUpstream(house, upstream, 'staff', draft)

const path = '/login?return=%2Fconsole'
const open = () => new Browser(house.baseUrl)

async function olgasId(): Promise<string> {
  const select = `SELECT user_id AS "userId" FROM identities WHERE subject = 'sub-olga'`
  return (await ask<{ userId: string }>(db, select))[0]!.userId
}

test('whoever has a group that is a role is let in at the first sign-in, with those roles and a second factor', async () => {
  const browser = open()
  const answer = await signInThere(browser, upstream, 'sub-olga', { path, factor: true })
  assert.equal(answer.status, 303, answer.text)
  const console_ = await browser.get('/console')
  // Who is asked for no factor may have given none: the console asks for it.
  const there =
    console_.status === 303
      ? await signInThere(browser, upstream, 'sub-olga', { path: console_.location!, factor: true })
      : console_
  assert.ok([200, 303].includes(there.status), there.text)
  assert.equal((await browser.get('/console')).status, 200)
  assert.deepEqual((await listRolesOf(db, await olgasId())).sort(), ['auditor', 'partner-manager'])
})

test('the log says by which provider, as people call it: its number says nothing once it is gone', async () => {
  const [entry] = await findEntries(db, {
    action: 'user.roles_provided',
    subject: `user:${await olgasId()}`,
    limit: 1,
  })
  assert.equal(entry!.details.provider, 'Staff ID')
})

test('whoever has none is told so, and nobody is made', async () => {
  const answer = await signInThere(open(), upstream, 'sub-guest', { path })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /you have no role here/)
})

test('a group that is gone at the next sign-in takes its role with it', async () => {
  house.clock.advance(minute)
  await upstream.keepTime()
  await upstream.lie({ claims: { groups: ['audit'] } })
  await signInThere(open(), upstream, 'sub-olga', { path, factor: true })
  assert.deepEqual(await listRolesOf(db, await olgasId()), ['auditor'])
  await upstream.lie({ claims: { groups: [] } })
  await signInThere(open(), upstream, 'sub-olga', { path, factor: true })
  assert.deepEqual(await listRolesOf(db, await olgasId()), [])
  await upstream.lie(undefined)
})

test('staff sign in at their provider anew after eight hours, however busy they are, and whatever replaced their session', async () => {
  await upstream.keepTime()
  const browser = open()
  await signInThere(browser, upstream, 'sub-olga', { path, factor: true })
  const { cookies } = browser
  const before = cookies.get('countersign-live-session')
  const session = (await findSession(db, before, 'live', house.clock.now()))!
  house.clock.advance(4 * minute)
  const from = { address: '127.0.0.1', userAgent: 'test' }
  const renewed = await openSession(db, session.user, 'live', from, house.clock.now(), session)
  cookies.set('countersign-live-session', renewed.text)
  for (let used = 4; used < 8 * 60 - 20; used += 20) {
    house.clock.advance(20 * minute)
    assert.equal(await isSignedIn(browser), true, `after ${used + 20} minutes`)
  }
  house.clock.advance(20 * minute)
  assert.equal(await isSignedIn(browser), false)
  assert.match((await browser.get('/console')).location!, /^\/login\?/)
  await upstream.keepTime()
})

/** What somebody is called here who comes for the first time. */
async function nameOf(subject: string): Promise<string | undefined> {
  const text = 'SELECT u.name FROM users u JOIN identities i ON i.user_id = u.id WHERE i.subject = $1'
  return (await ask<{ name: string }>(db, text, [subject]))[0]?.name
}

const comeAs = (who: string) => signInThere(open(), upstream, who, { path, factor: true })

test('whom the provider names at its userinfo endpoint alone is called so, with the roles that it says there', async () => {
  await upstream.lie({ claims: { name: null, groups: null } })
  assert.equal((await comeAs('sub-una')).status, 303)
  assert.equal(await nameOf('sub-una'), 'sub-una Userinfo')
  await upstream.lie(undefined)
})

test('what the ID token says goes before what is said at the userinfo endpoint', async () => {
  await upstream.lie({ claims: { name: null }, userInfo: { groups: ['partners'], acr: 'urn:unheard-of' } })
  assert.equal((await comeAs('sub-ulf')).status, 303)
  const select = `SELECT user_id AS "userId" FROM identities WHERE subject = 'sub-ulf'`
  const [{ userId }] = (await ask<{ userId: string }>(db, select)) as [{ userId: string }]
  assert.deepEqual(await listRolesOf(db, userId), ['auditor'])
  assert.equal(await nameOf('sub-ulf'), 'sub-ulf Userinfo')
  await upstream.lie(undefined)
})

test('an answer of the userinfo endpoint about somebody else is refused; one that does not come keeps nobody out', async () => {
  await upstream.lie({ claims: { name: null }, userInfo: { sub: 'sub-olga', name: 'Olga Operator' } })
  assert.equal((await comeAs('sub-uma')).status, 403)
  assert.equal(await nameOf('sub-uma'), undefined)
  const [refused] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.match(String(refused!.details.why), /"sub"/)
  await upstream.lie({ claims: { name: null }, userInfo: 'nothing' })
  assert.equal((await comeAs('sub-uma')).status, 303)
  assert.equal(await nameOf('sub-uma'), 'Staff')
  await upstream.lie(undefined)
})

test('whom the provider did not name at first is called by their name at the first sign-in that tells it, and it is recorded', async () => {
  await upstream.lie({ claims: { name: null }, userInfo: 'nothing' })
  await comeAs('sub-uwe')
  assert.equal(await nameOf('sub-uwe'), 'Staff')
  await upstream.lie({ claims: { name: 'Staff' } })
  await comeAs('sub-uwe')
  await upstream.lie({ claims: { name: 'a name\u0000 of no use' } })
  await comeAs('sub-uwe')
  assert.equal(await nameOf('sub-uwe'), 'Staff')
  await upstream.lie(undefined)
  const browser = open()
  assert.equal((await signInThere(browser, upstream, 'sub-uwe', { path, factor: true })).status, 303)
  assert.equal(await nameOf('sub-uwe'), 'sub-uwe Userinfo')
  const named = await findEntries(db, { action: 'user.named' })
  assert.deepEqual(
    named.map(({ details }) => details),
    [{ name: 'sub-uwe Userinfo', provider: 'Staff ID' }],
  )
  await upstream.lie({ claims: { name: 'Somebody Else' } })
  await comeAs('sub-uwe')
  assert.equal(await nameOf('sub-uwe'), 'sub-uwe Userinfo', 'a name that was told once stays')
  await upstream.lie(undefined)
})

test('whoever was named by an operator keeps that name, whatever the provider tells', async () => {
  const operator = await house.makeOperator('Nora Named', [])
  await linkByHand(db, provider, 'sub-nora', operator, house.act())
  await comeAs('sub-nora')
  assert.equal(await nameOf('sub-nora'), 'Nora Named')
})

test('a customer’s external id at the provider of staff makes nobody a customer', async () => {
  await makeCustomer(house, 'C-1')
  await upstream.lie({ claims: { customer_id: 'C-1' } })
  const answer = await signInThere(open(), upstream, 'sub-guest', { path })
  assert.equal(answer.status, 403)
  await upstream.lie(undefined)
})

test('whoever is linked by hand while they come for the first time comes as the one they are linked to, and nobody is made', async () => {
  const operator = await house.makeOperator('Lena Late', [])
  const count = `SELECT count(*)::int AS people FROM users`
  const before = await ask(db, count)
  const [, late] = await runBehind(
    db,
    (first) => linkByHand(first, provider, 'sub-late', operator, house.act()),
    () => signInThere(open(), upstream, 'sub-late', { path, factor: true }),
  )
  assert.equal(late.status === 'fulfilled' && late.value.status, 303)
  assert.deepEqual(await ask(db, count), before)
  assert.deepEqual(await listRolesOf(db, operator.id), ['auditor'])
})

const addressOf = async (subject: string) => {
  const text = 'SELECT u.id, u.email FROM users u JOIN identities i ON i.user_id = u.id WHERE i.subject = $1'
  return (await ask<{ id: string; email: string | null }>(db, text, [subject]))[0]!
}

test('staff have the address that their provider has verified, at each sign-in anew, and the one before is told', async () => {
  const come = async (claims: Record<string, unknown>, userInfo?: Record<string, unknown>) => {
    await upstream.lie({ claims, ...(userInfo && { userInfo }) })
    assert.equal((await comeAs('sub-mia')).status, 303)
    return addressOf('sub-mia')
  }
  const unverified = await come({ email: 'mia@example.com', email_verified: false })
  assert.equal(unverified.email, null)
  const told = await come({ email: 'mia@example.com', email_verified: true })
  assert.deepEqual(told, { id: unverified.id, email: 'mia@example.com' })
  const [set] = await findEntries(db, { action: 'user.email_changed', limit: 1 })
  assert.deepEqual(
    [set!.actor, set!.subject, set!.details],
    ['provider:staff', `user:${told.id}`, { change: 'set' }],
  )
  assert.equal((await come({}, { email: 'mia@example.org', email_verified: true })).email, 'mia@example.org')
  const former = 'SELECT email FROM former_emails WHERE user_id = $1'
  assert.deepEqual(await ask(db, former, [told.id]), [{ email: 'mia@example.com' }])
  assert.equal((await come({})).email, 'mia@example.org', 'silence takes nothing')
  const entries = await findEntries(db, { action: 'user.email_changed', subject: `user:${told.id}` })
  assert.equal(entries.length, 2)
  await upstream.lie({ claims: { email: 'new@example.com', email_verified: true } })
  await comeAs('sub-new')
  assert.equal((await addressOf('sub-new')).email, 'new@example.com')
  await upstream.lie(undefined)
})

test('whoever gives a second factor at their provider, and has no password here, counts as guarded; who has no address is counted', async () => {
  const [counted] = await db.query(countOperators)
  const [expected] = await ask<{ operators: number; unguarded: number; unaddressed: number }>(
    db,
    `SELECT count(*) AS operators, count(*) FILTER (WHERE i.factor_at IS NULL
        OR u.password_hash IS NOT NULL) AS unguarded,
         count(*) FILTER (WHERE email IS NULL) AS unaddressed
       FROM users u LEFT JOIN identities i ON i.user_id = u.id WHERE u.role = 'operator'
         AND u.status = 'active'`,
  )
  assert.deepEqual(counted, expected)
  assert.ok(counted!.unguarded < counted!.operators)
  const { finding } = await checkAddresses(db)
  assert.equal(finding.state, 'warn')
  assert.match(
    finding.found,
    new RegExp(`^${counted!.unaddressed} of ${counted!.operators} operators have no e-mail`),
  )
})
