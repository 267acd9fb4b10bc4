/**
 * An applicant tries its applications in the sandbox with its own members: any other user there is a real
 * person with a real name.
 */
import type { Sql } from '../database/database.ts'
import type { Registration } from './client.ts'
import { selectMembership } from './partners.sql.ts'

export async function mayTry(
  sql: Sql,
  { branchId, partnerStatus }: Pick<Registration, 'branchId' | 'partnerStatus'>,
  userId: string,
): Promise<boolean> {
  if (partnerStatus === 'approved') return true
  return (await sql.query(selectMembership, { branchId, userId })).length > 0
}
