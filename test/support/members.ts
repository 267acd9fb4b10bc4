/** Members of every role, and the links that invitations carry. */
import { type Sql, statement } from '../../src/database/database.ts'
import type { MemberRole } from '../../src/member-role.ts'
import { noticeWords } from '../../src/notices/notice-words.ts'
import type { NoticeToSend } from '../../src/notices/post.ts'
import { addMember, type Partner } from '../../src/partners/partner.ts'
import type { User } from '../../src/users/user.ts'
import type { Browser } from './browser.ts'
import type { TestGateway } from './gateway.ts'

export interface SignedInMember {
  readonly user: User
  readonly browser: Browser
}

export async function addAs(house: TestGateway, partner: Partner, role: MemberRole): Promise<SignedInMember> {
  const user = await house.makeUser()
  await addMember(house.gateway.context.db, partner, user, house.act(), role)
  return { user, browser: await house.signIn(user) }
}

const selectLast = statement(
  '',
  `SELECT id, email, kind, key, facts, attempts, created_at AS "createdAt", NULL AS name FROM notices
   WHERE kind = 'invitation' AND email = $1 ORDER BY id DESC LIMIT 1`,
)

/** What the newest invitation says that was written to this address; its link as a path of the live site. */
export async function readInvitation({ gateway }: TestGateway, email: string) {
  const { db, vault } = gateway.context
  const [notice] = await db.query<NoticeToSend>(selectLast, [email])
  const { subject, text } = noticeWords(notice!, { live: gateway.baseUrl, sandbox: gateway.sandboxUrl }, vault)
  const [, path] = new RegExp(`${gateway.baseUrl}(/partner/invitation/\\S+)`).exec(text)!
  return { subject, text, path: path!, notice: notice! }
}

/** As nodes of the release before do. */
export function inviteByName(sql: Sql, { branchId }: Partner, { username }: Pick<User, 'username'>, at: Date) {
  const text = 'INSERT INTO member_invitations (branch_id, username, invited_at) VALUES ($1, $2, $3)'
  return sql.query(statement('', text), [branchId, username, at])
}
