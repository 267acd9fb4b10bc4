/** What a credential does, in the transaction in which it may still do it: it may have waited for long. */
import type { Act } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Forbidden, Invalid } from '../problem.ts'
import { findStandingRole } from '../users/admin-credential.ts'
import { type Permission, permits } from '../vocabulary/permission.ts'

export async function refuseFallen(sql: Sql, permission: Permission, { by, at }: Act): Promise<void> {
  const { credential } = by
  if (credential && permits(await findStandingRole(sql, credential.id, at), permission)) return
  throw new Forbidden('This credential may not do this any more.')
}

export function whileStanding<Result>(
  db: Sql,
  permission: Permission,
  act: Act,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (sql) => {
    await refuseFallen(sql, permission, act)
    return work(sql)
  })
}

/** What takes something away says why. */
export function withReason(act: Act): Act & { readonly reason: string } {
  const { reason } = act
  if (reason === undefined)
    throw new Invalid([
      { field: 'reason', problem: 'is missing: say with ?reason= why, for the log and whoever decides' },
    ])
  return { ...act, reason }
}
