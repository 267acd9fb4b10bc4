/**
 * Invitations by username, as nodes of the release before make them: those that are open still count, for seven days. Nobody wrote down who
 * invited, so nobody knows whether they would still be an owner: whoever accepts one becomes a viewer, and an owner may make more of them.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { NotFound } from '../problem.ts'
import type { User } from '../users/user.ts'
import * as table from './named-invitations.sql.ts'
import { addMemberIn, type Partner } from './partner.ts'

const openFor = 7 * day

export interface NamedInvitation {
  readonly branchId: number
  readonly username: string
  readonly partnerName: string
  readonly invitedAt: Date
}

export function listNamedInvitations(sql: Sql, { branchId }: Partner): Promise<NamedInvitation[]> {
  return sql.query<NamedInvitation>(table.selectOfBranch, [branchId])
}

export function listNamedInvitationsOf(sql: Sql, { username }: User, now: Date): Promise<NamedInvitation[]> {
  return sql.query<NamedInvitation>(table.selectOfUser, [username, after(now, -openFor)])
}

export async function endNamedInvitation(
  db: Database,
  { branchId }: Pick<Partner, 'branchId'>,
  username: string,
  how: 'declined' | 'withdrawn',
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [ended] = await sql.query(table.deleteInvitation, [branchId, username])
    if (ended) await recordAct(sql, act, `partner.invitation_${how}`, `branch:${branchId}`, { username })
  })
}

export async function acceptNamedInvitation(db: Database, partner: Partner, user: User, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const since = after(act.at, -openFor)
    const [invited] = await sql.query(table.consumeInvitation, [partner.branchId, user.username, since])
    if (!invited) throw new NotFound('This invitation is no longer there.')
    await addMemberIn(sql, partner, user, act, 'viewer')
  })
}
