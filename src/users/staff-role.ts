/**
 * Which roles somebody of the staff has, and from where: given by hand, or by an identity provider at each sign-in. A provider takes back
 * what it gave and touches nothing that was given by hand; a hand takes back what a hand gave.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import type { StaffRole } from '../permission.ts'
import * as table from './staff-roles.sql.ts'

export { permissionsOf, type StaffRole } from '../permission.ts'

/** What counts now: none for whoever is locked out, or not of the staff. */
export async function listRolesOf(sql: Sql, userId: string): Promise<StaffRole[]> {
  const rows = await sql.query<{ role: StaffRole }>(table.selectStaffRoles, [userId])
  return rows.map(({ role }) => role)
}

/**
 * What a provider says of somebody of the staff, in the transaction of their sign-in: these roles are from it, and no others. Removal is
 * certain, also of the last administrator; those given by hand stay.
 */
export async function setProvidedRoles(
  sql: Sql,
  userId: string,
  providerId: string | number,
  roles: readonly StaffRole[],
  act: Act,
): Promise<void> {
  const [found] = await sql.query(table.lockStaffMember, [userId])
  if (!found) throw new Error(`${userId} is not of the staff: a provider cannot give them roles.`)
  const source = `provider:${providerId}`
  const before = await sql.query<{ role: StaffRole }>(table.selectRolesFrom, [userId, source])
  const held = before.map(({ role }) => role)
  const given = [...new Set(roles)].filter((role) => !held.includes(role))
  const taken = held.filter((role) => !roles.includes(role))
  if (given.length === 0 && taken.length === 0) return
  await sql.query(table.insertStaffRoles, [userId, given, source, act.at])
  await sql.query(table.deleteStaffRoles, [userId, taken, source])
  await recordAct(sql, act, 'user.roles_provided', `user:${userId}`, { provider: String(providerId), given, taken })
}
