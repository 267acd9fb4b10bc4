/**
 * Whom a partner invites becomes a member by accepting. The answer to an invitation is the same whether or not there is such a user,
 * and nobody is made a member unasked: a member of two partners can no longer call for either with a personal token.
 */
import { type Actor, recordAct } from '../audit/audit.ts'
import { type Database, type Sql, statement } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { findUsernameProblem, type User } from '../users/user.ts'
import { addMemberIn, type Partner } from './partner.ts'
import { lockPartner, selectMembers } from './partners.sql.ts'

export const membersAtMost = 50

export interface Invitation {
  readonly branch_id: number
  readonly username: string
  readonly partner_name: string
  readonly invited_at: Date
}

const insertInvitation = statement(
  'insert_invitation',
  'INSERT INTO member_invitations (branch_id, username, invited_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING username',
)

const columns = 'i.branch_id, i.username, p.name AS partner_name, i.invited_at'

const selectOfBranch = statement(
  'select_invitations_of_branch',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.branch_id = $1 ORDER BY i.invited_at, i.username`,
)

const selectOfUser = statement(
  'select_invitations_of_user',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.username = $1 ORDER BY i.invited_at`,
)

const deleteInvitation = statement(
  'delete_invitation',
  'DELETE FROM member_invitations WHERE branch_id = $1 AND username = $2 RETURNING username',
)

export async function inviteMember(db: Database, partner: Partner, name: string, by: Actor, now: Date): Promise<void> {
  const username = name.toLowerCase()
  const problem = findUsernameProblem(username)
  if (problem) throw new Invalid([{ field: 'username', problem }])
  await db.transaction(async (sql) => {
    await sql.query(lockPartner, [partner.branch_id])
    const [members, invited] = [
      await sql.query<User>(selectMembers, [partner.branch_id]),
      await listInvitations(sql, partner),
    ]
    if (members.some((member) => member.username === username))
      throw new Invalid([{ field: 'username', problem: 'is a member already' }])
    if (members.length + invited.length >= membersAtMost)
      throw new Conflict(`A partner has at most ${membersAtMost} members and invitations.`)
    const [added] = await sql.query(insertInvitation, [partner.branch_id, username, now])
    if (added) await recordAct(sql, by, 'partner.member_invited', `branch:${partner.branch_id}`, now, { username })
  })
}

export function listInvitations(sql: Sql, { branch_id }: Partner): Promise<Invitation[]> {
  return sql.query<Invitation>(selectOfBranch, [branch_id])
}

export function listInvitationsOf(sql: Sql, { username }: User): Promise<Invitation[]> {
  return sql.query<Invitation>(selectOfUser, [username])
}

export async function endInvitation(
  db: Database,
  { branch_id }: Pick<Partner, 'branch_id'>,
  username: string,
  how: 'declined' | 'withdrawn',
  by: Actor,
  now: Date,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [ended] = await sql.query(deleteInvitation, [branch_id, username])
    if (ended) await recordAct(sql, by, `partner.invitation_${how}`, `branch:${branch_id}`, now, { username })
  })
}

export async function acceptInvitation(
  db: Database,
  partner: Partner,
  user: User,
  by: Actor,
  now: Date,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [invited] = await sql.query(deleteInvitation, [partner.branch_id, user.username])
    if (!invited) throw new NotFound('This invitation is no longer there.')
    await addMemberIn(sql, partner, user, by, now)
  })
}
