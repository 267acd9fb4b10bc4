/**
 * An applicant tries its applications in the sandbox with its test holders and its own members: any other user
 * there is a real person with a real name. Test holders are for their own partner, in whatever state it is.
 */
import type { Sql } from '../database/database.ts'
import type { User } from '../users/user.ts'
import type { Registration } from './client.ts'
import { selectMembership } from './partners.sql.ts'

export async function mayTry(
  sql: Sql,
  { branchId, partnerStatus }: Pick<Registration, 'branchId' | 'partnerStatus'>,
  { id: userId, testOf }: Pick<User, 'id' | 'testOf'>,
): Promise<boolean> {
  if (testOf !== null) return testOf === branchId
  if (partnerStatus === 'approved') return true
  return (await sql.query(selectMembership, { branchId, userId })).length > 0
}
