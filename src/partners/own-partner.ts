/** Staff who belong to a partner do not act on it for the brokerage: they would decide about themselves. */
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { selectOwnMembership, selectOwnPartner } from './partners.sql.ts'

/** A member who left a moment ago could be back a moment later. */
const formerMs = 30 * day

type OwnPartnerArguments = readonly [
  sql: Sql,
  branchId: string | number | undefined,
  userId: string,
  now: Date,
]

/** Whether they are a member, or were one lately. */
export function isMemberOf(...args: OwnPartnerArguments): Promise<boolean> {
  return find(selectOwnMembership, args)
}

/**
 * The same, or they have or had the address of one. That is for what is given alone: a member could take an
 * address to be out of its holder's reach.
 */
export function isOwnPartner(...args: OwnPartnerArguments): Promise<boolean> {
  return find(selectOwnPartner, args)
}

async function find(
  statement: typeof selectOwnMembership,
  [sql, branchId, userId, now]: OwnPartnerArguments,
): Promise<boolean> {
  if (!/^\d{1,9}$/.test(String(branchId))) return false
  const values = { branchId: Number(branchId), userId, since: after(now, -formerMs) }
  return (await sql.query(statement, values)).length > 0
}

export const ownPartnerWords =
  'You are a member of this partner, or were one in the last 30 days. Somebody else of the staff has to do this.'
