/** Staff who come by single sign-on: their roles are what the provider's groups or app roles say, at each sign-in anew. Whoever has one is let in, also for the first time. */
import type { Act } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import type { Sql } from '../database/database.ts'
import { findNameProblem } from '../name.ts'
import type { StaffRole } from '../permission.ts'
import { createWithoutPassword, type User } from '../users/user.ts'
import type { Provider } from './provider.ts'

type Claims = Readonly<Record<string, unknown>>

/** None for holders: their providers name no such claim. */
export function rolesFrom({ rolesClaim, roleMap }: Provider, claims: Claims): StaffRole[] {
  const said = rolesClaim === null ? undefined : claims[rolesClaim]
  const values = (Array.isArray(said) ? said : [said]).filter((each) => typeof each === 'string')
  return [...new Set(values.flatMap((each) => (Object.hasOwn(roleMap, each) ? [roleMap[each]!] : [])))]
}

/** The name is for people to read: nobody is known by it. */
export function addStaff(sql: Sql, { name }: Claims, act: Act): Promise<User> {
  const shown = typeof name === 'string' && findNameProblem(name, 200) === undefined ? name : 'Staff'
  const username = `staff-${randomLetters(10).toLowerCase()}`
  return createWithoutPassword(sql, { username, name: shown, role: 'operator' }, act)
}
