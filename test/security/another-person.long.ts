/**
 * Four eyes are of two people: whoever changed how an account is signed in to may be behind it, and decides
 * nothing together with it.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Act, insertEntry } from '../../src/audit/audit.ts'
import { openingActions } from '../../src/audit/powers.ts'
import { day, hour } from '../../src/clock.ts'
import { violates } from '../../src/database/database.ts'
import { linkByHand, unlinkByHand } from '../../src/identity/identity.ts'
import { enableProvider, factsOf, removeProvider } from '../../src/identity/provider.ts'
import { changeProvider } from '../../src/identity/provider-change.ts'
import { applyAsPartner, printSeen } from '../../src/partners/partner.ts'
import { carryOut, decideProposal } from '../../src/proposals/proposal.ts'
import { setEmail } from '../../src/users/email.ts'
import { mayBeOnePerson } from '../../src/users/one-person.ts'
import { openPasswords } from '../../src/users/password.ts'
import { sendResetTo } from '../../src/users/password-reset.ts'
import { resetSecondFactor } from '../../src/users/second-factor.ts'
import type { Session } from '../../src/users/session.ts'
import { getStaffMember, giveRole } from '../../src/users/staff-role.ts'
import { createUser, setPassword, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { openConsole, press } from '../support/console.ts'
import { openHouse, password } from '../support/gateway.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { type Looks, openLookingDatabase } from '../support/plans.ts'
import { setUpApp } from '../support/second-factor.ts'
import { draftUpstream, registerUpstream } from '../support/upstream.ts'
import { tokenOf } from '../support/web.ts'

const house = await openHouse({ FOUR_EYES: 'partner.approve,user.reset-two-factor' })
const { db, vault } = house.gateway.context
const passwords = openPasswords(1)
const fourEyes = ['partner.approve', 'user.reset-two-factor'] as const
const admin = { db, vault, holdersUsePasswords: true }

const actOf = ({ id }: User): Act & { readonly reason: string } => ({
  ...{ by: { name: `user:${id}` }, at: house.clock.now(), reason: 'Ticket 4711.' },
})

function sessionOf(user: User): Session {
  const now = house.clock.now()
  return { id: 1, user, proofs: { passwordAt: now, factorAt: now }, firstSeenAt: now } as unknown as Session
}

const makeBoss = () => house.makeOperator('Ada Administrator', ['administrator'])

async function propose(by: User): Promise<number> {
  const partner = await applyAsPartner(db, `Applicant ${makeUpWord()}`, house.act())
  const values = { branchId: partner.branchId, seen: printSeen(partner) }
  const made = await carryOut({ db, fourEyes }, 'partner.approve', values, actOf(by))
  assert.ok(made.kind === 'proposed')
  return made.id
}

const decide = (id: number, by: User) =>
  decideProposal(db, id, 'approve', { session: sessionOf(by), act: actOf(by) })

/** Neither decides what the other proposed. */
async function assertOne(one: User, other: User): Promise<void> {
  await assert.rejects(decide(await propose(one), other), /Somebody else has to decide/)
  await assert.rejects(decide(await propose(other), one), /Somebody else has to decide/)
}

async function assertTwo(one: User, other: User): Promise<void> {
  assert.equal(await decide(await propose(one), other), 'applied')
  assert.equal(await decide(await propose(other), one), 'applied')
}

const address = () => `${makeUpWord().toLowerCase()}@broker.example`

/** By each act after which somebody else may have a way into an account of the staff. */
const openings: Readonly<Record<string, (target: User, by: User) => Promise<unknown>>> = {
  'user.created': (target, by) => insertEntry(db, actOf(by), 'user.created', `user:${target.id}`, {}),
  'user.password_changed': (target, by) => setPassword(db, passwords, target, password, actOf(by)),
  'user.email_changed': (target, by) => setEmail(db, target, address(), actOf(by)),
  async 'user.reset_sent'(target, by) {
    await setEmail(db, target, address(), actOf(target))
    house.clock.advance(day + 1)
    assert.equal(await sendResetTo(admin, target, actOf(by)), true)
  },
  'second_factor.reset': (target, by) => resetSecondFactor(db, target, actOf(by)),
  async 'identity.linked'(target, by) {
    const name = makeUpWord().toLowerCase()
    const draft = { kind: 'staff', linkClaim: null } as const
    const provider = await registerUpstream(house, { issuer: `https://127.0.0.1:9/${name}` }, name, draft)
    await linkByHand(db, provider, 'sub-x', target, actOf(by))
  },
  async 'provider.added'(target, by) {
    const provider = await draftUpstream(house, { kind: 'staff', linkClaim: null })
    await enableProvider(db, provider.id, actOf(by))
    await linkByHand(db, provider, 'sub-y', target, house.act())
  },
  async 'provider.changed'(target, by) {
    const name = makeUpWord().toLowerCase()
    const draft = { kind: 'staff', linkClaim: null } as const
    const provider = await registerUpstream(house, { issuer: `https://127.0.0.1:9/${name}` }, name, draft)
    await linkByHand(db, provider, 'sub-v', target, house.act())
    await changeProvider(db, provider.id, { ...factsOf(provider), clientId: 'another' }, actOf(by))
  },
}

test('every act of the table that opens an account is tried here', () => {
  assert.deepEqual(Object.keys(openings).sort(), [...openingActions].sort())
})

for (const [action, open] of Object.entries(openings))
  test(`after ${action} by one, neither decides what the other proposed, for 30 days`, async () => {
    const [one, other, third] = [await makeBoss(), await makeBoss(), await makeBoss()]
    await open(other, one)
    await assertOne(one, other)
    await assertTwo(one, third)
    await assertTwo(other, third)
    house.clock.advance(30 * day - hour)
    await assertOne(one, other)
    house.clock.advance(2 * hour)
    await assertTwo(one, other)
  })

test('whoever opened two accounts, or one through the other, is in neither a second person', async () => {
  const [hand, one, other, further, third] = [
    ...[await makeBoss(), await makeBoss(), await makeBoss(), await makeBoss(), await makeBoss()],
  ]
  await setEmail(db, one!, address(), actOf(hand!))
  await setEmail(db, other!, address(), actOf(hand!))
  await setEmail(db, further!, address(), actOf(other!))
  await assertOne(one!, other!)
  await assertOne(one!, further!)
  await assertOne(hand!, further!)
  await assertTwo(third!, further!)
})

test('whoever opened accounts by a provider is behind them also when it is removed, and added again by somebody they opened', async () => {
  const [hand, puppet, further, third] = [
    await makeBoss(),
    await makeBoss(),
    await makeBoss(),
    await makeBoss(),
  ]
  const provider = await draftUpstream(house, { kind: 'staff', linkClaim: null })
  await enableProvider(db, provider.id, actOf(hand))
  await linkByHand(db, provider, 'sub-puppet', puppet, house.act())
  await setEmail(db, further, address(), actOf(puppet))
  await removeProvider(db, provider, actOf(hand))
  await assertOne(hand, puppet)
  await assertOne(hand, further)
  await assertTwo(third, puppet)
  const { name, issuer, kind, linkClaim } = provider
  const again = await draftUpstream(house, { name: `${name}-2`, issuer, kind, linkClaim })
  await enableProvider(db, again.id, actOf(further))
  await assertOne(hand, puppet)
  await assertTwo(third, further)
})

test('a change of a provider that takes one person opens nothing: to what is written down, a name, fewer roles', async () => {
  const [hand, one, other, third] = [await makeBoss(), await makeBoss(), await makeBoss(), await makeBoss()]
  const draft = await draftUpstream(house, {
    kind: 'staff',
    linkClaim: null,
    roleMap: { a: 'viewer', b: 'support' },
  })
  await changeProvider(db, draft.id, { ...factsOf(draft), clientId: 'another' }, actOf(hand))
  await enableProvider(db, draft.id, house.act())
  for (const [subject, user] of Object.entries({ one, other }))
    await linkByHand(db, draft, subject, user, house.act())
  const narrower = {
    ...factsOf(draft),
    clientId: 'another',
    label: 'Another name',
    roleMap: { a: 'viewer' },
  } as const
  await changeProvider(db, draft.id, narrower, actOf(hand))
  await assertTwo(hand, one)
  await assertTwo(one, other)
  await changeProvider(db, draft.id, { ...narrower, roleMap: { a: 'support' } }, actOf(hand))
  await assertOne(hand, one)
  await assertOne(one, other)
  await assertTwo(one, third)
})

test('two accounts with one address are one person, and stay so for 30 days when one of them takes another', async () => {
  const [one, other] = [await makeBoss(), await makeBoss()]
  const shared = address()
  await setEmail(db, one, shared, actOf(one))
  await setEmail(db, other, shared.toUpperCase(), actOf(other))
  await assertOne(one, other)
  for (const each of [other, one]) {
    await setEmail(db, each, address(), actOf(each))
    await assertOne(one, other)
  }
  house.clock.advance(31 * day)
  await assertTwo(one, other)
})

test('one’s own changes, and what two people decided, open an account to nobody else', async () => {
  const [one, other, third] = [await makeBoss(), await makeBoss(), await makeBoss()]
  await setEmail(db, one, address(), actOf(one))
  await setPassword(db, passwords, one, password, actOf(one))
  await setUpApp(house, await house.signIn(third))
  const made = await carryOut({ db, fourEyes }, 'user.reset-two-factor', { userId: third.id }, actOf(one))
  assert.ok(made.kind === 'proposed')
  assert.equal(await decide(made.id, other), 'applied')
  await assertTwo(one, third)
  await assertTwo(other, third)
})

test('the page says why somebody else has to decide, and offers nothing that would be refused', async () => {
  const [maker, checker] = [await openConsole(house), await openConsole(house)]
  await press(maker.browser, `/console/users/${checker.user.id}`, '/email', { email: address() })
  const id = await propose(maker.user)
  const page = await checker.browser.get(`/console/proposals/${id}`)
  assert.match(page.text, /one person changed how one of you, or both, sign in/)
  assert.ok(!page.text.includes('/approve"'))
  const forged = { csrf: await tokenOf(checker.browser) }
  assert.equal((await checker.browser.post(`/console/proposals/${id}/approve`, forged)).status, 403)
})

/** As a provider makes them: without a password. */
async function makeProvided() {
  const name = makeUpWord().toLowerCase()
  const draft = { kind: 'staff', linkClaim: null } as const
  const provider = await registerUpstream(house, { issuer: `https://127.0.0.1:9/${name}` }, name, draft)
  const username = `staff-${name}`
  const person = {
    username,
    name: 'Stan Staff',
    password: undefined,
    role: 'operator',
    staffRoles: [],
  } as const
  const user = await createUser(db, passwords, person, house.act())
  await linkByHand(db, provider, 'sub-z', user, house.act())
  return { user, provider }
}

test('staff whom a provider knows get no password here: not by a reset, not by a command, not by whoever writes SQL', async () => {
  const boss = await openConsole(house)
  const { user, provider } = await makeProvided()
  const here = `/console/users/${user.id}`
  await press(boss.browser, here, '/email', { email: address() })
  house.clock.advance(2 * day)
  const again = await house.signIn(boss.user)
  const sent = await again.post(`${here}/reset`, { csrf: await tokenOf(again), reason: 'Asked for.' })
  assert.match(sent.text, /they get no password here, and sign in at your identity provider/)
  await assert.rejects(
    setPassword(db, passwords, user, password, house.act()),
    /get no password here\. Unlink them first/,
  )
  const forced = ask(db, `UPDATE users SET password_hash = 'x' WHERE id = $1`, [user.id])
  await assert.rejects(forced, (error) => violates(error, 'users_staff_password'))
  // A house that leaves its provider unlinks them on the machine.
  await unlinkByHand(db, provider, 'sub-z', house.act())
  await setPassword(db, passwords, user, password, house.act())
})

test('an entry of long ago, of a holder, or of a partner’s opens nothing', async () => {
  const [one, other] = [await makeBoss(), await makeBoss()]
  const holder = await house.makeUser()
  for (const subject of [`user:${holder.id}`, 'branch:1', 'provider:nobody'])
    await insertEntry(db, actOf(one), 'user.email_changed', subject, {})
  await assertTwo(one, other)
})

test('a security officer gives no role that they lack to an account behind which they may be; an administrator gives it', async () => {
  const officer = await house.makeOperator('Otto Officer', ['security-officer'])
  const [second, shares] = [
    await house.makeOperator('Otto Again', ['viewer']),
    await house.makeOperator('Otto', []),
  ]
  const provider = await draftUpstream(house, { kind: 'staff', linkClaim: null })
  await enableProvider(db, provider.id, actOf(officer))
  await linkByHand(db, provider, 'sub-otto', second, house.act())
  const shared = address()
  for (const each of [officer, shares]) await setEmail(db, each, shared, actOf(each))
  for (const target of [second, shares]) {
    const member = await getStaffMember(db, target.id)
    await assert.rejects(giveRole(db, member, 'support', actOf(officer)), /Ask an administrator/)
    await giveRole(db, member, 'viewer', actOf(officer))
    await giveRole(db, member, 'support', actOf(await makeBoss()))
  }
  await removeProvider(db, provider, actOf(officer))
  const left = await getStaffMember(db, second.id)
  await assert.rejects(giveRole(db, left, 'partner-manager', actOf(officer)), /Ask an administrator/)
  const colleague = await house.makeOperator('Carl Colleague', [])
  await giveRole(db, await getStaffMember(db, colleague.id), 'support', actOf(officer))
})

test('whether two are one person is found by indexes, however long the log is', async () => {
  const [one, other] = [await makeBoss(), await makeBoss()]
  const lenient = openLenientDatabase({ connectionString: house.databaseUrl, connections: 1 })
  await lenient.script(`INSERT INTO audit_entries (at, actor, action, subject, details)
    SELECT now(), 'user:x', 'session.started', 'user:x', '{}' FROM generate_series(1, 20000);
    INSERT INTO identities (issuer, subject, user_id, linked_at)
      VALUES ('https://gone.example', 'ada', '${one.id}', now()); ANALYZE audit_entries`)
  const looks: Looks = new Map()
  await mayBeOnePerson(await openLookingDatabase(lenient, looks), one.id, other.id, house.clock.now())
  await lenient.close()
  const [look] = [...looks.values()]
  assert.ok(!look!.readWhole.has('audit_entries'))
  assert.ok(look!.rows < 5_000, `${look!.rows} rows`)
})
