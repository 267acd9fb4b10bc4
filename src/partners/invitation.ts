/**
 * Whom a partner invites becomes a member by accepting. The answer to an invitation is the same whether or not there is such a user,
 * and nobody is made a member unasked: a member of two partners can no longer call for either with a personal token.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { findUsernameProblem, type User } from '../users/user.ts'
import * as table from './invitations.sql.ts'
import { addMemberIn, type Partner } from './partner.ts'
import { lockPartner, selectMembers } from './partners.sql.ts'

const membersAtMost = 50

export interface Invitation {
  readonly branchId: number
  readonly username: string
  readonly partnerName: string
  readonly invitedAt: Date
}

export async function inviteMember(db: Database, partner: Partner, name: string, act: Act): Promise<void> {
  const username = name.toLowerCase()
  const problem = findUsernameProblem(username)
  if (problem) throw new Invalid([{ field: 'username', problem }])
  await db.transaction(async (sql) => {
    await sql.query(lockPartner, [partner.branchId])
    const [members, invited] = [
      await sql.query<User>(selectMembers, [partner.branchId]),
      await listInvitations(sql, partner),
    ]
    if (members.some((member) => member.username === username))
      throw new Invalid([{ field: 'username', problem: 'is a member already' }])
    if (members.length + invited.length >= membersAtMost)
      throw new Conflict(`A partner has at most ${membersAtMost} members and invitations.`)
    const [added] = await sql.query(table.insertInvitation, [partner.branchId, username, act.at])
    if (added) await recordAct(sql, act, 'partner.member_invited', `branch:${partner.branchId}`, { username })
  })
}

export function listInvitations(sql: Sql, { branchId }: Partner): Promise<Invitation[]> {
  return sql.query<Invitation>(table.selectOfBranch, [branchId])
}

export function listInvitationsOf(sql: Sql, { username }: User): Promise<Invitation[]> {
  return sql.query<Invitation>(table.selectOfUser, [username])
}

export async function endInvitation(
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

export async function acceptInvitation(db: Database, partner: Partner, user: User, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [invited] = await sql.query(table.deleteInvitation, [partner.branchId, user.username])
    if (!invited) throw new NotFound('This invitation is no longer there.')
    await addMemberIn(sql, partner, user, act)
  })
}
