/**
 * Staff who come by single sign-on: their roles are what the provider's groups or app roles say, at each
 * sign-in anew. A subject with a role is let in, also for the first time.
 */
import type { Act } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import type { Sql } from '../database/database.ts'
import { findMail, replaceEmail } from '../users/email.ts'
import { createWithoutPassword, nameInstead, type User } from '../users/user.ts'
import type { PersonClaims } from './claims.ts'
import type { Provider } from './provider.ts'

/** The name of staff whom the provider did not name. */
const unnamed = 'Staff'

type PersonName = Pick<PersonClaims, 'name' | 'email'>

export function addStaff(sql: Sql, { name = unnamed, email }: PersonName, act: Act): Promise<User> {
  const username = `staff-${randomLetters(10).toLowerCase()}`
  return createWithoutPassword(sql, { username, name, email, role: 'operator' }, act)
}

/** At the first sign-in that tells the name of an operator who has none. */
export async function nameStaff(
  sql: Sql,
  user: User,
  { label }: Provider,
  { name }: PersonName,
  act: Act,
): Promise<void> {
  if (user.name === unnamed && name !== undefined && name !== unnamed)
    await nameInstead(sql, user, { name, provider: label }, act)
}

/**
 * The address is the provider's to say, as the roles are: one that it has verified takes the place of the one
 * before, which is told.
 */
export async function addressStaff(
  sql: Sql,
  user: User,
  provider: Provider,
  { email }: PersonName,
  act: Act,
): Promise<void> {
  if (email === undefined) return
  const mail = await findMail(sql, user.id)
  if (mail?.email === email) return
  await replaceEmail(sql, user, email, { by: { ...act.by, name: `provider:${provider.name}` }, at: act.at })
}
