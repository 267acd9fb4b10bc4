/** Members of every role, and the links that invitations carry. */

import { noticeWords } from '../../src/notices/notice-words.ts'
import type { NoticeToSend } from '../../src/notices/post.ts'
import { addMember, type Partner } from '../../src/partners/partner.ts'
import type { User } from '../../src/users/user.ts'
import type { MemberRole } from '../../src/vocabulary/member-role.ts'
import { ask } from './ask.ts'
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

const selectLast = `SELECT id, email, kind, key, facts, attempts, created_at AS "createdAt", NULL AS name FROM notices
   WHERE kind = 'invitation' AND email = $1 ORDER BY id DESC LIMIT 1`

/** What the newest invitation says that was written to this address; its link as a path of the live site. */
export async function readInvitation({ gateway }: TestGateway, email: string) {
  const { db, vault } = gateway.context
  const [notice] = await ask<NoticeToSend>(db, selectLast, [email])
  const { subject, text } = noticeWords(
    notice!,
    { live: gateway.baseUrl, sandbox: gateway.sandboxUrl },
    vault,
  )
  const [, path] = new RegExp(`${gateway.baseUrl}(/partner/invitation/\\S+)`).exec(text)!
  return { subject, text, path: path!, notice: notice! }
}
