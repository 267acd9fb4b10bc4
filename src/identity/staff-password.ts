/**
 * The way in that is left to operators when their provider is away. Where they have one, every use of a
 * password is told to the staff who manage them (break-glass).
 */
import type { Act } from '../audit/audit.ts'
import { hour } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import type { User } from '../users/user.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { rolesWith } from '../vocabulary/permission.ts'
import { tellOfStaffPassword } from './staff-password.sql.ts'

/**
 * One notice an hour: an operator who gives the password again within it, to confirm an act, causes no
 * second.
 */
export async function tellOfPassword(
  sql: Sql,
  user: User,
  environment: Environment,
  { by, at }: Act,
): Promise<void> {
  if (user.role !== 'operator') return
  const key = `${user.id}:${Math.floor(at.getTime() / hour)}`
  const facts = { name: user.name, environment, from: by.address ?? null, userAgent: by.userAgent ?? null }
  const roles = rolesWith('staff.manage')
  await sql.query(tellOfStaffPassword, { ...memberLimits(at), key, facts, roles })
}
