/** Who of the staff has which role, and from where. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Act, findEntries } from '../../src/audit/audit.ts'
import { linkByHand, unlinkByHand } from '../../src/identity/identity.ts'
import { removeProvider } from '../../src/identity/provider.ts'
import {
  getStaffMember,
  giveRole,
  listRolesIn,
  listRolesOf,
  type StaffRole,
  setProvidedRoles,
  takeRole,
} from '../../src/users/staff-role.ts'
import { setStatusOfOther, setUserStatus, type User } from '../../src/users/user.ts'
import { permissions, permissionsOf, staffRoles } from '../../src/vocabulary/permission.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { registerUpstream } from '../support/upstream.ts'
import { signInWith } from '../support/web.ts'

const house = await openHouse()
const { db } = house.gateway.context

const giveByHand = `INSERT INTO staff_roles VALUES ($1, $2, 'hand', $3)`

/** Of the staff, with these roles by hand and no others. */
const makeStaff = (...roles: StaffRole[]) => house.makeOperator('Stan Staff', roles)

/** What somebody does through a page. */
const actOf = ({ id }: User): Act => ({ by: { name: `user:${id}` }, at: house.clock.now() })
const give = async (to: User, role: StaffRole, act: Act) =>
  giveRole(db, await getStaffMember(db, to.id), role, act)
const take = async (from: User, role: StaffRole, act: Act) =>
  takeRole(db, await getStaffMember(db, from.id), role, act)

const provide = (user: User, provider: string, ...roles: StaffRole[]) =>
  db.transaction((sql) =>
    setProvidedRoles(sql, user.id, { id: provider, label: provider }, roles, house.act()),
  )

test('every role opens the overview, and an administrator may do everything', () => {
  for (const role of staffRoles) assert.ok(permissionsOf[role].includes('overview.see'), role)
  assert.deepEqual(permissionsOf.administrator, permissions)
})

test('a provider replaces what it gave, and touches neither a hand’s roles nor another provider’s', async () => {
  const user = await makeStaff('viewer')
  await provide(user, 'entra', 'support', 'viewer')
  await provide(user, 'okta', 'auditor')
  assert.deepEqual(await listRolesOf(db, user.id), ['auditor', 'support', 'viewer'])
  await provide(user, 'entra', 'partner-manager')
  assert.deepEqual(await listRolesOf(db, user.id), ['auditor', 'partner-manager', 'viewer'])
  await provide(user, 'entra')
  assert.deepEqual(await listRolesOf(db, user.id), ['auditor', 'viewer'])
})

test('what a provider changes is in the log, and what it says again is not', async () => {
  const user = await makeStaff()
  await provide(user, 'entra', 'support', 'support')
  await provide(user, 'entra', 'support')
  await provide(user, 'entra', 'viewer')
  const entries = await findEntries(db, { action: 'user.roles_provided', subject: `user:${user.id}` })
  assert.deepEqual(
    entries.map(({ details }) => details),
    [
      { provider: 'entra', given: ['viewer'], taken: ['support'] },
      { provider: 'entra', given: ['support'], taken: [] },
    ],
  )
})

test('of whoever is locked out, or not of the staff, no role counts', async () => {
  const user = await makeStaff('administrator')
  await setUserStatus(db, user, 'disabled', house.act())
  assert.deepEqual(await listRolesOf(db, user.id), [])
  const holder = await house.makeUser()
  await ask(db, giveByHand, [holder.id, 'administrator', house.clock.now()])
  assert.deepEqual(await listRolesOf(db, holder.id), [])
  await assert.rejects(provide(holder, 'entra', 'viewer'), /is not of the staff/)
})

/** Everybody else is no administrator any more: whoever is, is the last. */
async function leaveOnly(...last: User[]): Promise<void> {
  const text = `DELETE FROM staff_roles WHERE role = 'administrator' AND user_id <> ALL ($1)`
  await ask(db, text, [last.map(({ id }) => id)])
}

test('nobody gives themselves a role, and only an administrator makes administrators', async () => {
  const officer = await makeStaff('security-officer')
  const colleague = await makeStaff('viewer')
  await assert.rejects(give(officer, 'support', actOf(officer)), /You cannot give yourself a role/)
  await assert.rejects(give(colleague, 'administrator', actOf(officer)), /Only an administrator/)
  const boss = await makeStaff('administrator')
  await assert.rejects(take(boss, 'administrator', actOf(officer)), /Only an administrator/)
  await assert.rejects(give(boss, 'support', actOf(boss)), /You cannot give yourself a role/)
  await give(colleague, 'support', actOf(officer))
  assert.deepEqual(await listRolesOf(db, colleague.id), ['support', 'viewer'])
  await assert.rejects(
    give(officer, 'auditor', actOf(colleague)),
    /You may not change the roles of staff any more/,
  )
})

test('roles are given and taken once, each with its entry', async () => {
  const [boss, colleague] = [await makeStaff('administrator'), await makeStaff()]
  const act = { ...actOf(boss), reason: 'Ticket 4711.' }
  for (let time = 0; time < 2; time++) await give(colleague, 'support', act)
  for (let time = 0; time < 2; time++) await take(colleague, 'support', act)
  const entries = await findEntries(db, { actor: `user:${boss.id}`, subject: `user:${colleague.id}` })
  const told = entries.map(({ action, details }) => [action, details.role, details.reason])
  assert.deepEqual(told, [
    ['user.role_taken', 'support', 'Ticket 4711.'],
    ['user.role_given', 'support', 'Ticket 4711.'],
  ])
})

test('what a provider gave is not taken by hand', async () => {
  const [boss, colleague] = [await makeStaff('administrator'), await makeStaff()]
  await provide(colleague, 'entra', 'support')
  await take(colleague, 'support', actOf(boss))
  assert.deepEqual(await listRolesOf(db, colleague.id), ['support'])
})

test('the last administrator keeps the role and is not locked out, whatever a provider says of others', async () => {
  const boss = await makeStaff('administrator')
  await leaveOnly(boss)
  const other = await makeStaff('support', 'security-officer')
  const { id: providerId } = await registerStaffProvider('others')
  await provide(other, String(providerId), 'administrator')
  await assert.rejects(take(boss, 'administrator', actOf(boss)), /This is the last administrator/)
  await assert.rejects(take(boss, 'administrator', house.act()), /This is the last administrator/)
  const byOther = { ...actOf(other), by: { name: `user:${other.id}`, providerId } }
  await assert.rejects(setStatusOfOther(db, boss, 'disabled', byOther), /This is the last administrator/)
  assert.deepEqual(await listRolesOf(db, boss.id), ['administrator'])
  await give(other, 'administrator', actOf(boss))
  await take(boss, 'administrator', actOf(boss))
  assert.deepEqual(await listRolesOf(db, boss.id), [])
})

test('of two administrators who take each other’s role at once, one stays', async () => {
  const [one, two] = [await makeStaff('administrator'), await makeStaff('administrator')]
  await leaveOnly(one, two)
  const [mine, theirs] = [await getStaffMember(db, one.id), await getStaffMember(db, two.id)]
  const [, second] = await runBehind(
    db,
    (joined) => takeRole(joined, theirs, 'administrator', actOf(one)),
    () => takeRole(db, mine, 'administrator', actOf(two)),
  )
  assert.equal(second.status, 'rejected')
  assert.deepEqual([await listRolesOf(db, one.id), await listRolesOf(db, two.id)], [['administrator'], []])
})

test('of two who lock out and unmake the two administrators at once, the second finds that one has to stay', async () => {
  const [one, two] = [await makeStaff('administrator'), await makeStaff('administrator')]
  await leaveOnly(one, two)
  const mine = await getStaffMember(db, one.id)
  const [, second] = await runBehind(
    db,
    (joined) => setStatusOfOther(joined, two, 'disabled', actOf(one)),
    () => takeRole(db, mine, 'administrator', house.act()),
  )
  assert.equal(second.status, 'rejected')
  assert.deepEqual(await listRolesOf(db, one.id), ['administrator'])
})

test('whoever lost the role meanwhile locks out nobody', async () => {
  const [boss, support] = [await makeStaff('administrator'), await makeStaff('support')]
  const holder = await house.makeUser()
  await take(support, 'support', actOf(boss))
  await assert.rejects(setStatusOfOther(db, holder, 'disabled', actOf(support)), /may not do this any more/)
})

/** A provider of staff that nobody asks. */
const registerStaffProvider = (name: string) =>
  registerUpstream(house, { issuer: `https://${name}.example.com` }, name, {
    ...{ kind: 'staff', label: name, linkClaim: null, rolesClaim: 'groups', roleMap: {} },
  })

test('what a provider gave counts in the sessions that it opened, and in no other', async () => {
  const [one, other] = [await registerStaffProvider('one'), await registerStaffProvider('other')]
  const user = await makeStaff('viewer')
  await provide(user, String(one.id), 'administrator')
  assert.deepEqual(await listRolesIn(db, user.id, undefined), ['viewer'])
  assert.deepEqual(await listRolesIn(db, user.id, other.id), ['viewer'])
  assert.deepEqual(await listRolesIn(db, user.id, one.id), ['administrator', 'viewer'])
  const browser = new Browser(house.baseUrl)
  assert.equal((await signInWith(browser, user.username, { path: '/login/password' })).status, 303)
  assert.equal((await browser.get('/console')).status, 200)
  assert.equal((await browser.get('/console/staff')).status, 403)
})

test('a password makes nobody an administrator who is one at a provider alone', async () => {
  const { id } = await registerStaffProvider('officers')
  const [user, colleague] = [await makeStaff('security-officer'), await makeStaff('viewer')]
  await provide(user, String(id), 'administrator')
  await assert.rejects(give(colleague, 'administrator', actOf(user)), /Only an administrator gives or takes/)
  await give(colleague, 'administrator', { ...actOf(user), by: { name: `user:${user.id}`, providerId: id } })
  assert.deepEqual(await listRolesOf(db, colleague.id), ['administrator', 'viewer'])
})

test('with a provider, or the link to it, goes what it gave', async () => {
  const [gone, kept] = [await registerStaffProvider('gone'), await registerStaffProvider('kept')]
  const [user, colleague] = [await makeStaff('viewer'), await makeStaff('viewer')]
  for (const each of [user, colleague])
    for (const { id } of [gone, kept]) await provide(each, String(id), id === gone.id ? 'support' : 'auditor')
  await linkByHand(db, kept, 'sub-user', user, house.act())
  await removeProvider(db, gone, house.act())
  assert.deepEqual(await listRolesOf(db, user.id), ['auditor', 'viewer'])
  assert.deepEqual(await listRolesOf(db, colleague.id), ['auditor', 'viewer'])
  await unlinkByHand(db, kept, 'sub-user', house.act())
  assert.deepEqual(await listRolesOf(db, user.id), ['viewer'])
  assert.deepEqual(await listRolesOf(db, colleague.id), ['auditor', 'viewer'])
})

test('only an administrator locks out or lets in an administrator, whatever gave them the role', async () => {
  const [boss, byHand, provided] = [
    await makeStaff('administrator'),
    await makeStaff('administrator'),
    await makeStaff(),
  ]
  await provide(provided, 'entra', 'administrator')
  const officer = await makeStaff('support', 'security-officer')
  for (const target of [byHand, provided])
    for (const status of ['disabled', 'active'] as const) {
      const asOfficer = setStatusOfOther(db, target, status, actOf(officer))
      await assert.rejects(asOfficer, /may not do this any more/, status)
      await setStatusOfOther(db, target, status, actOf(boss))
    }
})
