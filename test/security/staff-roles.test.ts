/** Who of the staff has which role, and from where. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { statement } from '../../src/database/database.ts'
import { permissions, permissionsOf, staffRoles } from '../../src/permission.ts'
import { listRolesOf, type StaffRole, setProvidedRoles } from '../../src/users/staff-role.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse()
const { db } = house.gateway.context

const giveByHand = statement('', `INSERT INTO staff_roles VALUES ($1, $2, 'hand', $3)`)
const takeAll = statement('', 'DELETE FROM staff_roles WHERE user_id = $1')

/** Of the staff, with these roles by hand and no others. */
async function makeStaff(...roles: StaffRole[]): Promise<User> {
  const user = await house.makeOperator()
  await db.query(takeAll, [user.id])
  for (const role of roles) await db.query(giveByHand, [user.id, role, house.clock.now()])
  return user
}

const provide = (user: User, provider: string, ...roles: StaffRole[]) =>
  db.transaction((sql) => setProvidedRoles(sql, user.id, provider, roles, house.act()))

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
  await db.query(giveByHand, [holder.id, 'administrator', house.clock.now()])
  assert.deepEqual(await listRolesOf(db, holder.id), [])
  await assert.rejects(provide(holder, 'entra', 'viewer'), /is not of the staff/)
})
