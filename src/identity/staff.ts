/** Staff who come by single sign-on: their roles are what the provider's groups or app roles say, at each sign-in anew. Whoever has one is let in, also for the first time. */
import type { Act } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import type { Sql } from '../database/database.ts'
import { findNameProblem } from '../name.ts'
import type { StaffRole } from '../permission.ts'
import { createWithoutPassword, nameInstead, type User } from '../users/user.ts'
import type { Provider } from './provider.ts'

type Claims = Readonly<Record<string, unknown>>

/** None for holders: their providers name no such claim. */
export function rolesFrom({ rolesClaim, roleMap }: Provider, claims: Claims): StaffRole[] {
  const said = rolesClaim === null ? undefined : claims[rolesClaim]
  const values = (Array.isArray(said) ? said : [said]).filter((each) => typeof each === 'string')
  return [...new Set(values.flatMap((each) => (Object.hasOwn(roleMap, each) ? [roleMap[each]!] : [])))]
}

/** Whom the provider did not name. */
const unnamed = 'Staff'

/** The name is for people to read: nobody is known by it. */
function nameFrom({ name }: Claims): string | undefined {
  return typeof name === 'string' && findNameProblem(name, 200) === undefined ? name : undefined
}

export function addStaff(sql: Sql, claims: Claims, act: Act): Promise<User> {
  const username = `staff-${randomLetters(10).toLowerCase()}`
  return createWithoutPassword(sql, { username, name: nameFrom(claims) ?? unnamed, role: 'operator' }, act)
}

/** At the first sign-in that tells the name of somebody who has none. */
export async function nameStaff(sql: Sql, user: User, { label }: Provider, claims: Claims, act: Act): Promise<void> {
  const name = nameFrom(claims)
  if (user.name === unnamed && name !== undefined && name.trim() !== unnamed)
    await nameInstead(sql, user, { name, provider: label }, act)
}
