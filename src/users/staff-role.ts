/**
 * Which roles an operator has, and from where: given by hand, or by an identity provider at each sign-in. A
 * provider takes back what it gave and touches nothing that was given by hand; an operator takes back what
 * was given by hand.
 */
import { type Act, type Actor, personOf, recordAct } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Forbidden, NotFound } from '../problem.ts'
import { type Permission, permissionsOf, permits, type StaffRole } from '../vocabulary/permission.ts'
import { staffRoleWords } from '../vocabulary/staff-role-words.ts'
import { mayBeOnePerson } from './one-person.ts'
import * as table from './staff-roles.sql.ts'
import { lockActiveOperators } from './users.sql.ts'

export { permissionsOf, type StaffRole } from '../vocabulary/permission.ts'

/** From every source, where no session is at hand: none for a user who is locked out, or not of the staff. */
export async function listRolesOf(sql: Sql, userId: string): Promise<StaffRole[]> {
  const rows = await sql.query(table.selectStaffRoles, { userId })
  return rows.map(({ role }) => role)
}

/**
 * What counts in a session: what was given by hand, and by the provider that opened it. A password is no way
 * to what a provider gave.
 */
export async function listRolesIn(
  sql: Sql,
  userId: string,
  providerId: number | undefined,
): Promise<StaffRole[]> {
  const rows = await sql.query(table.selectSessionRoles, { userId, providerId: providerId?.toString() })
  return rows.map(({ role }) => role)
}

/** Of a signed-in operator, what counts in the session; of a credential, its role. Nobody else has any. */
export async function listRolesOfActor(sql: Sql, by: Actor): Promise<readonly StaffRole[]> {
  const { credential } = by
  if (credential)
    return carries(await listRolesOf(sql, credential.userId), credential.role) ? [credential.role] : []
  const userId = personOf(by)
  return userId === undefined ? [] : listRolesIn(sql, userId, by.providerId)
}

/** Whether somebody with these roles may do everything that the role may. */
export function carries(roles: readonly StaffRole[], role: StaffRole): boolean {
  return permissionsOf[role].every((each) => permits(roles, each))
}

/**
 * A provider that gives roles: roles are kept by its id, and the log has what people call it, which can still
 * be read when it is gone.
 */
interface RoleGiver {
  readonly id: string | number
  readonly label: string
}

/**
 * Removing a provider removes the roles that it gave to all users, but for those that are kept; removing a
 * user's link removes those that it gave to them.
 */
export async function dropProvidedRoles(
  sql: Sql,
  provider: RoleGiver,
  act: Act,
  userId?: string,
  kept: readonly StaffRole[] = [],
): Promise<void> {
  const gone = await sql.query(table.deleteRolesFrom, { source: sourceOf(provider), userId, kept })
  for (const [id, own] of Map.groupBy(gone, (each) => each.userId)) {
    const taken = own.map(({ role }) => role)
    const details = { provider: provider.label, given: [], taken }
    await recordAct(sql, act, 'user.roles_provided', `user:${id}`, details)
  }
}

/** As `HeldRole` has it. */
export const sourceOf = ({ id }: Pick<RoleGiver, 'id'>): string => `provider:${id}`

/**
 * What acting on a user takes beside helping people: on staff, giving out their roles; on an administrator,
 * being one.
 */
export function neededOver(target: {
  readonly role: string
  readonly isAdministrator: boolean
}): readonly Permission[] {
  if (target.role !== 'operator') return []
  return target.isAdministrator ? ['staff.manage', 'administrators.manage'] : ['staff.manage']
}

export async function findNeededOver(
  sql: Sql,
  { id, role }: { readonly id: string; readonly role: string },
): Promise<readonly Permission[]> {
  const found = await sql.one(table.selectIsAdministrator, { userId: id })
  return neededOver({ role, ...found })
}

/** `may`: what whoever acts is let do. */
export async function refuseActingOn(
  sql: Sql,
  user: { readonly id: string; readonly role: string },
  may: (permission: Permission) => boolean,
): Promise<void> {
  const needed = await findNeededOver(sql, user)
  if (needed.every(may)) return
  if (needed.includes('administrators.manage'))
    throw new Forbidden('This person is an administrator. Only another administrator may do this.')
  throw new Forbidden('This person is staff. Only somebody who can also change staff roles may do this.')
}

/**
 * What a provider says of an operator, in the transaction of their sign-in: these roles are from it, and no
 * others. Removal is certain, also of the last administrator; those given by hand stay.
 */
export async function setProvidedRoles(
  sql: Sql,
  userId: string,
  provider: RoleGiver,
  roles: readonly StaffRole[],
  act: Act,
): Promise<void> {
  const [found] = await sql.query(table.lockStaffMember, { id: userId })
  if (!found) throw new Error(`${userId} is not of the staff: a provider cannot give them roles.`)
  const source = sourceOf(provider)
  const before = await sql.query(table.selectRolesFrom, { userId, source })
  const held = before.map(({ role }) => role)
  const given = [...new Set(roles)].filter((role) => !held.includes(role))
  const taken = held.filter((role) => !roles.includes(role))
  if (given.length === 0 && taken.length === 0) return
  await sql.query(table.insertStaffRoles, { userId, roles: given, source, givenAt: act.at })
  await sql.query(table.deleteStaffRoles, { userId, roles: taken, source })
  await recordAct(sql, act, 'user.roles_provided', `user:${userId}`, {
    provider: provider.label,
    given,
    taken,
  })
}

export interface HeldRole {
  readonly role: StaffRole
  /** `hand`, or `provider:` and its id. */
  readonly source: string
  readonly givenAt: Date
}

export interface StaffMember {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly status: 'active' | 'disabled'
  /** By a second factor. */
  readonly isGuarded: boolean
  readonly roles: readonly HeldRole[]
}

type StaffRow = Omit<StaffMember, 'roles'> & { readonly [Name in keyof HeldRole]: HeldRole[Name] | null }

/** Staff is few: what a page shows of it has a bound all the same. */
const rowsAtMost = 2_000

/** By name; those without a role among them. */
export async function listStaff(sql: Sql): Promise<StaffMember[]> {
  return gather(await sql.query(table.selectStaff, { most: rowsAtMost }))
}

export async function getStaffMember(sql: Sql, userId: string): Promise<StaffMember> {
  const [found] = gather(await sql.query(table.selectStaffMember, { id: userId }))
  if (!found) throw new NotFound('There is nobody of the staff with this id.')
  return found
}

function gather(rows: readonly StaffRow[]): StaffMember[] {
  const rolesOf = Map.groupBy(rows, ({ id }) => id)
  const people = new Map(rows.map((row) => [row.id, row]))
  return [...people.values()].map(({ id, username, name, status, isGuarded }) => {
    const roles = (rolesOf.get(id) ?? []).flatMap(({ role, source, givenAt }) =>
      role && source && givenAt ? [{ role, source, givenAt }] : [],
    )
    return { id, username, name, status, isGuarded, roles }
  })
}

/** By hand. A second time it changes nothing. */
export async function giveRole(db: Sql, to: StaffMember, role: StaffRole, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await lockStaff(sql, to)
    await refuseGiver(sql, role, act)
    if (act.by.name === `user:${to.id}`)
      throw new Forbidden('You cannot give yourself a role. Ask another administrator or security officer.')
    await refuseOwnSecond(sql, to, role, act)
    await giveByHand(sql, to.id, [role], act)
  })
}

/** Within the transaction that makes a user an operator, or under the lock of it. */
export async function giveByHand(
  sql: Sql,
  userId: string,
  roles: readonly StaffRole[],
  act: Act,
): Promise<void> {
  const given = await sql.query(table.insertStaffRoles, {
    userId,
    roles,
    source: 'hand',
    givenAt: act.at,
  })
  for (const { role } of given) await recordAct(sql, act, 'user.role_given', `user:${userId}`, { role })
}

/** What a hand gave. What a provider gave is taken there, and goes with the next sign-in. */
export async function takeRole(db: Sql, from: StaffMember, role: StaffRole, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await lockStaff(sql, from)
    await refuseGiver(sql, role, act)
    const taken = await sql.query(table.deleteStaffRoles, { userId: from.id, roles: [role], source: 'hand' })
    if (taken.length === 0) return
    if (role === 'administrator') await refuseNoAdministrator(sql)
    await recordAct(sql, act, 'user.role_taken', `user:${from.id}`, { role })
  })
}

/**
 * All transactions lock in one order: of two operators who take each other's role, one comes first and the
 * other finds it done.
 */
async function lockStaff(sql: Sql, { id, name }: Pick<StaffMember, 'id' | 'name'>): Promise<void> {
  await sql.query(lockActiveOperators)
  const [found] = await sql.query(table.lockStaffMember, { id })
  if (!found) throw new Conflict(`${name} is not of the staff any more.`)
}

/**
 * Signed-in operators alone: an actor on the machine's command line has every power anyway. They may have
 * lost their own role while they waited.
 */
async function refuseGiver(sql: Sql, role: StaffRole, { by }: Act): Promise<void> {
  if (personOf(by) === undefined) return
  const own = await listRolesOfActor(sql, by)
  if (!permits(own, 'staff.manage')) throw new Forbidden('You may not change the roles of staff any more.')
  if (role === 'administrator' && !permits(own, 'administrators.manage'))
    throw new Forbidden(
      `Only an administrator gives or takes the role ${staffRoleWords.administrator.title}.`,
    )
}

/** Nor to an account behind which they may be themselves, what they do not have. */
async function refuseOwnSecond(sql: Sql, to: StaffMember, role: StaffRole, { by, at }: Act): Promise<void> {
  const giver = personOf(by)
  if (giver === undefined || carries(await listRolesOfActor(sql, by), role)) return
  if (await mayBeOnePerson(sql, giver, to.id, at))
    throw new Forbidden(
      'In the last 30 days you had the same address as this person, or changed how they sign in. Ask an administrator.',
    )
}

/** After the change and under the lock of the staff: the last administrator stays. */
export async function refuseNoAdministrator(sql: Sql): Promise<void> {
  const left = await sql.query(table.selectAdministrators)
  if (left.length === 0)
    throw new Conflict('This is the last administrator. Make somebody else an administrator first.')
}
