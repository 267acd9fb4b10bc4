/** Where a user's notices go, and which of them come. */
import { type Act, recordAct } from '../audit/audit.ts'
import { after } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import type { DeclinableKind } from '../notices/facts.ts'
import { formerMs, lockNoticesOf } from '../notices/notice.ts'
import { Invalid } from '../problem.ts'
import { parseEmail } from './email-address.ts'
import type { User } from './user.ts'
import * as table from './users.sql.ts'

export interface Mail {
  readonly email: string | null
  readonly declinedNotices: readonly DeclinableKind[]
}

export async function findMail(sql: Sql, userId: string): Promise<Mail | undefined> {
  const [mail] = await sql.query(table.selectMail, { id: userId })
  return mail
}

/** What a holder may have had within the time that they are told: each of them is told of every act. */
const formerAtMost = 5

/**
 * Undefined takes it back. A trigger keeps and tells those of before (migrations/0006-notices.sql): a thief
 * of the account cannot silence its owner.
 */
export async function setEmail(
  db: Sql,
  user: User,
  typed: string | undefined,
  act: Act,
): Promise<string | undefined> {
  const email = typed === undefined ? undefined : parseEmail(typed)
  await db.transaction((sql) => replaceEmail(sql, user, email, act))
  return email
}

/** The same in the caller's transaction, with an address that was read. */
export async function replaceEmail(sql: Sql, user: User, email: string | undefined, act: Act): Promise<void> {
  await lockNoticesOf(sql, user.id)
  const [before] = await sql.query(table.lockMail, { id: user.id })
  if (!before || before.email === (email ?? null)) return
  if (email !== undefined && act.by.name === `user:${user.id}`)
    await refuseTooMany(sql, user.id, email, act.at)
  await sql.query(table.nameAct, { act: printAct(act) })
  await sql.query(table.updateEmail, { id: user.id, email, updatedAt: act.at })
}

function printAct({ by, at, reason }: Act): object {
  const { name, environment, address, userAgent, requestId } = by
  return { by: name, at, environment, address, userAgent, requestId, reason }
}

/** Taking one of them again makes them no more. */
async function refuseTooMany(sql: Sql, userId: string, email: string, now: Date): Promise<void> {
  const former = await sql.query(table.selectFormerEmails, { userId, since: after(now, -formerMs) })
  if (former.length < formerAtMost || former.some((each) => each.email === email)) return
  const problem =
    'was changed five times in the last 30 days. Take one of those addresses again, or ask the brokerage'
  throw new Invalid([{ field: 'email', problem }])
}

export function removeOldFormerEmails(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldFormerEmails, { until: after(now, -formerMs), most })
}

export async function declineNotices(
  db: Sql,
  user: User,
  declined: readonly DeclinableKind[],
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    const [changed] = await sql.query(table.updateDeclined, {
      id: user.id,
      declinedNotices: declined,
      updatedAt: act.at,
    })
    if (changed) await recordAct(sql, act, 'user.notices_chosen', `user:${user.id}`, { declined })
  })
}
