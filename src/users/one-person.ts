/**
 * Whether two accounts could be one person's. Who decides, or gets a role, is another person and not merely
 * another account.
 */
import { openingActions } from '../audit/powers.ts'
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { selectSameHand } from './one-person.sql.ts'

/** For so long whoever changed the way into an account may be who comes in there. */
const sameHandMs = 30 * day

/** By the audit log: it has every change of a way in, and nobody can change it. */
export async function mayBeOnePerson(sql: Sql, one: string, other: string, now: Date): Promise<boolean> {
  const found = await sql.query(selectSameHand, {
    one,
    other,
    since: after(now, -sameHandMs),
    actions: openingActions,
  })
  return found.length > 0
}
