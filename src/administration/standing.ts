/** What a credential does, in the transaction in which it may still do it: it may have waited for long. */
import type { Act } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Forbidden, Invalid } from '../problem.ts'
import { findStandingRole } from '../users/admin-credential.ts'
import { lockActiveOperators } from '../users/users.sql.ts'
import { type Permission, permits } from '../vocabulary/permission.ts'

async function refuseFallen(sql: Sql, permission: Permission, { by, at }: Act): Promise<void> {
  const { credential } = by
  if (credential && permits(await findStandingRole(sql, credential.id, at), permission)) return
  throw new Forbidden('This credential may not do this any more.')
}

/**
 * First of all, as where it is decided (proposals/proposal.ts): the two never wait for each other in a circle,
 * and what the credential may stays so until the end. Answers its number.
 */
export async function holdCredential(sql: Sql, permission: Permission, act: Act): Promise<number> {
  await sql.query(lockActiveOperators)
  await refuseFallen(sql, permission, act)
  return act.by.credential!.id
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
