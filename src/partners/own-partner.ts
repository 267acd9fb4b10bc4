/** Staff who belong to a partner do not act on it for the brokerage: they would decide about themselves. */
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { selectOwnPartner } from './partners.sql.ts'

/** Whoever left a moment ago could be back a moment later. */
const formerMs = 30 * day

/** Whether they are a member, were one lately, or have or had the address of one. */
export async function isOwnPartner(
  sql: Sql,
  branchId: string | number | undefined,
  userId: string,
  now: Date,
): Promise<boolean> {
  if (!/^\d{1,9}$/.test(String(branchId))) return false
  return (await sql.query(selectOwnPartner, [branchId, userId, after(now, -formerMs)])).length > 0
}

export const ownPartnerWords =
  'You are a member of this partner, or were one in the last 30 days. Somebody else of the staff has to do this.'
