/**
 * Whether two accounts could be one person's. The decider of a proposal, or the receiver of a role, is
 * another person and not merely another account.
 */
import { openingActions } from '../audit/powers.ts'
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { selectSameHand } from './one-person.sql.ts'

/** For so long the person who changed the way into an account may be the one who comes in there. */
const sameHandMs = 30 * day

/** By the audit log: it has every change of a way in, and it cannot be changed. */
export async function mayBeOnePerson(sql: Sql, one: string, other: string, now: Date): Promise<boolean> {
  const found = await sql.query(selectSameHand, {
    one,
    other,
    since: after(now, -sameHandMs),
    actions: openingActions,
  })
  return found.length > 0
}
