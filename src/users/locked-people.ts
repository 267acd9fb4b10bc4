/** Users who cannot sign in, and why: what the database's triggers wrote (migrations/0002-people.sql). */
import { after, day, minute } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { deleteOldWaits, selectLockedPeople } from './locked-people.sql.ts'
import type { User } from './user.ts'

type LockReason = 'locked' | 'app locked' | 'must wait'

interface LockedPerson {
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly role: User['role']
  readonly isAdministrator: boolean
  readonly reason: LockReason
  readonly since: Date
}

/** How long each is news. A user locked out by an operator stays so, and is looked for under users. */
const newsMs: Record<LockReason, number> = {
  locked: 7 * day,
  'app locked': 3_650 * day,
  'must wait': 15 * minute,
}

export function listLockedPeople(
  sql: Sql,
  reason: LockReason,
  now: Date,
  most: number,
): Promise<LockedPerson[]> {
  return sql.query(selectLockedPeople, { reason, since: after(now, -newsMs[reason]), most })
}

export async function removeOldWaits(sql: Sql, now: Date): Promise<void> {
  await sql.query(deleteOldWaits, { until: after(now, -newsMs['must wait']) })
}
