/**
 * What people are told by e-mail. A notice is written in the transaction of what it tells of (a transactional
 * outbox), so that none is lost and none tells of what was undone. A user without an address is not told, and
 * that is never an error.
 */
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import type { GuardKind, NoticeFacts, NoticeKind, PersonalKind } from './facts.ts'
import * as table from './notices.sql.ts'

/** Of one kind to one person in a day: what comes beyond has been told often enough. */
export const noticesADay = 20

/**
 * For so long an address that was replaced or removed is told of changes that could hand the account to
 * another person.
 */
export const formerMs = 30 * day

/** Makes other transactions that notify the same user wait, so that a notice of a moment ago is seen. */
export async function lockNoticesOf(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.lockRecipient, { recipient: `notices:${userId}` })
}

interface NewNotice<Kind extends PersonalKind> {
  readonly kind: Kind
  readonly key: string
  readonly facts: NoticeFacts[Kind]
  readonly email?: string
  /** Where others than its reader could use up what comes in a day. */
  readonly mostADay?: number
}

/** True when it was written: false when it was told before, too often today, or there is no address. */
export async function tellUser<Kind extends PersonalKind>(
  sql: Sql,
  userId: string,
  notice: NewNotice<Kind>,
  now: Date,
): Promise<boolean> {
  const told = { ...notice, key: `${notice.kind}:${notice.key}` }
  return (await sql.query(table.insertNotice, { ...memberLimits(now), ...told, userId })).length > 0
}

/**
 * A change that could hand the account to another person is told to its address and to the former ones. A
 * change of address is told by a trigger (migrations/0006-notices.sql).
 */
export async function tellOwner(
  sql: Sql,
  userId: string,
  kind: Exclude<GuardKind, 'address'>,
  facts: object,
  now: Date,
): Promise<void> {
  await sql.query(table.tellOwner, { userId, kind, facts, now })
}

/**
 * To an address that may or may not have a user. The caller has locked the address, and counted
 * (`countMail`).
 */
export async function tellAddress(
  sql: Sql,
  email: string,
  notice: { readonly key: string; readonly facts: NoticeFacts['invitation'] },
  now: Date,
): Promise<void> {
  await sql.query(table.insertForAddress, {
    email,
    kind: 'invitation',
    key: `invitation:${notice.key}`,
    facts: notice.facts,
    now,
  })
}

/**
 * Makes other transactions that write to the same address wait; answers how much went there since then, and
 * how much this partner sent.
 */
export async function countMail(sql: Sql, email: string, branchId: number, since: Date): Promise<MailCount> {
  await sql.query(table.lockRecipient, { recipient: `notices:${email.toLowerCase()}` })
  return sql.one(table.countForAddress, { email, branchId, since })
}

interface MailCount {
  readonly toAddress: number
  readonly byPartner: number
}

/** A notice as its recipient sees it. */
export interface RecipientNotice {
  readonly id: number
  readonly kind: PersonalKind
  readonly email: string
  readonly state: 'waiting' | 'sent' | 'given up'
  readonly createdAt: Date
}

export function listNotices(sql: Sql, userId: string, most: number): Promise<RecipientNotice[]> {
  return sql.query(table.selectNoticesOf, { userId, most })
}

/** How often they were told of a kind since then, and when last. */
export async function countTold(
  sql: Sql,
  userId: string,
  kind: PersonalKind,
  since: Date,
): Promise<{ readonly count: number; readonly lastAt: Date | null }> {
  return sql.one(table.countTold, { userId, kind, since })
}

/** Whether the very same was told since then. */
export async function wasTold<Kind extends NoticeKind>(
  sql: Sql,
  userId: string,
  kind: Kind,
  facts: NoticeFacts[Kind],
  since: Date,
): Promise<boolean> {
  return (await sql.query(table.selectTold, { userId, kind, facts, since })).length > 0
}

/** What `tellMembers` and the like take beside the values of their own. */
export function memberLimits(now: Date): MemberLimits {
  return { now, dayAgo: after(now, -day), mostADay: noticesADay }
}

interface MemberLimits {
  readonly now: Date
  readonly dayAgo: Date
  readonly mostADay: number
}
