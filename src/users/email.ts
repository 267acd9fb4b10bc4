/** Where a user's notices go, and which of them come. */
import { type Actor, recordAct } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import { type DeclinableKind, lockNoticesOf, tellUser } from '../notices/notice.ts'
import { parseEmail } from './email-address.ts'
import type { User } from './user.ts'
import * as table from './users.sql.ts'

export interface Mail {
  readonly email: string | null
  readonly declined_notices: readonly DeclinableKind[]
}

export async function findMail(sql: Sql, userId: string): Promise<Mail | undefined> {
  const [mail] = await sql.query<Mail>(table.selectMail, [userId])
  return mail
}

/** Undefined takes it back. The address before is told: whoever took the account over cannot silence its owner unnoticed. */
export async function setEmail(
  db: Database,
  user: User,
  typed: string | undefined,
  by: Actor,
  now: Date,
): Promise<string | undefined> {
  const email = typed === undefined ? undefined : parseEmail(typed)
  await db.transaction(async (sql) => {
    await lockNoticesOf(sql, user.id)
    const [before] = await sql.query<{ email: string | null }>(table.lockMail, [user.id])
    if (!before || before.email === (email ?? null)) return
    await sql.query(table.updateEmail, [user.id, email, now])
    const change = before.email === null ? 'set' : email === undefined ? 'removed' : 'replaced'
    await recordAct(sql, by, 'user.email_changed', `user:${user.id}`, now, { change })
    if (before.email === null || change === 'set') return
    const facts = { changed: change, byHolder: by.name === `user:${user.id}`, from: by.address ?? null } as const
    await tellUser(sql, user.id, { kind: 'address', key: crypto.randomUUID(), facts, email: before.email }, now)
  })
  return email
}

export async function declineNotices(
  db: Database,
  user: User,
  declined: readonly DeclinableKind[],
  by: Actor,
  now: Date,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [changed] = await sql.query(table.updateDeclined, [user.id, declined, now])
    if (changed) await recordAct(sql, by, 'user.notices_chosen', `user:${user.id}`, now, { declined })
  })
}
