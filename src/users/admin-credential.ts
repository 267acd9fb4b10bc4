/**
 * A program's credential for the administration API. It stands for one of the staff, with a role of its own:
 * it may do what that role may while the person may do all of it, which is asked with each request. It
 * proposes and never decides (proposals/).
 */
import { type Act, type ActingCredential, personOf, recordAct } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import { issueToken, type Token, tokenHint } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { Forbidden, Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { permits, type StaffRole } from '../vocabulary/permission.ts'
import { staffRoleWords } from '../vocabulary/staff-role-words.ts'
import * as table from './admin-credentials.sql.ts'
import { carries, getStaffMember, listRolesOf, listRolesOfActor } from './staff-role.ts'
import { lockActiveOperators } from './users.sql.ts'

export interface AdminCredential {
  readonly id: number
  /** For whom it acts. */
  readonly userId: string
  readonly name: string
  readonly environment: Environment
  readonly role: StaffRole
  /** Others of the staff who can read it where it is kept. */
  readonly readers: readonly string[]
  readonly hint: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

export const credentialDays = { usual: 90, most: 400 }
const readersAtMost = 20

interface NewCredential
  extends Pick<AdminCredential, 'userId' | 'name' | 'environment' | 'role' | 'readers'> {
  readonly days: number
}

export async function createCredential(
  db: Sql,
  { userId, name, environment, role, readers, days }: NewCredential,
  act: Act,
): Promise<{ credential: AdminCredential; secret: Token }> {
  const others = [...new Set(readers)].filter((each) => each !== userId).sort()
  const nameProblem = findNameProblem(name, 100)
  const { most } = credentialDays
  const problems = [
    ...(nameProblem ? [{ field: 'name', problem: nameProblem }] : []),
    ...(Number.isInteger(days) && days >= 1 && days <= most
      ? []
      : [{ field: 'days', problem: `must be a whole number from 1 to ${most}` }]),
    ...(others.length > readersAtMost
      ? [{ field: 'reader', problem: `can name ${readersAtMost} people at most` }]
      : []),
  ]
  if (problems.length > 0) throw new Invalid(problems)
  const secret = issueToken('administration', environment)
  const credential = await db.transaction(async (sql) => {
    // Nobody's roles change until it is made.
    await sql.query(lockActiveOperators)
    await refuseMaker(sql, role, act)
    for (const reader of others) await getStaffMember(sql, reader)
    if (!carries(await listRolesOf(sql, userId), role))
      throw new Invalid([{ field: 'role', problem: 'must not be able to do more than the person it is for' }])
    const made = await sql.one(table.insertCredential, {
      ...{ userId, name: name.trim(), environment, role, readers: others },
      ...{
        hash: secret.hash,
        hint: tokenHint(secret),
        createdAt: act.at,
        expiresAt: after(act.at, days * day),
      },
    })
    const { expiresAt } = made
    const details = { name: made.name, environment, role, userId, readers: others, expiresAt }
    await recordAct(sql, act, 'credential.created', `credential:${made.id}`, details)
    return made
  })
  return { credential, secret }
}

/** Signed-in operators alone: an actor on the machine's command line has every power anyway. */
async function refuseMaker(sql: Sql, role: StaffRole, { by }: Act): Promise<void> {
  if (personOf(by) === undefined) return
  const own = await listRolesOfActor(sql, by)
  if (by.credential || !permits(own, 'staff.manage'))
    throw new Forbidden('Only whoever gives out roles makes credentials.')
  if (!carries(own, role))
    throw new Forbidden(
      `You may not hand out the role ${staffRoleWords[role].title}: it may do more than you. Ask an administrator.`,
    )
}

const listedAtMost = 1_000

export function listCredentials(sql: Sql): Promise<(AdminCredential & { readonly userName: string })[]> {
  return sql.query(table.selectCredentials, { most: listedAtMost })
}

export async function revokeCredential(db: Sql, id: number, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query(table.revokeCredential, { id, revokedAt: act.at })
    if (!revoked) throw new NotFound(`There is no living credential ${id}.`)
    await recordAct(sql, act, 'credential.revoked', `credential:${id}`)
  })
}

/** Undefined where it does not exist, has ended, or its person may no longer do what it may. */
export async function findActing(
  sql: Sql,
  { hash, environment }: Token,
  now: Date,
): Promise<ActingCredential | undefined> {
  const [found] = await sql.query(table.selectByHash, { hash, now })
  if (found?.environment !== environment || !(await stands(sql, found))) return undefined
  await sql.query(table.touchCredential, { id: found.id, usedAt: now })
  const { id, userId, readers, role } = found
  return { id, userId, readers, role }
}

/** What it may at this moment: its role, or nothing. */
export async function findStandingRole(sql: Sql, id: number, now: Date): Promise<readonly StaffRole[]> {
  const [found] = await sql.query(table.selectById, { id, now })
  return found && (await stands(sql, found)) ? [found.role] : []
}

async function stands(sql: Sql, { userId, role }: AdminCredential): Promise<boolean> {
  return carries(await listRolesOf(sql, userId), role)
}
