/**
 * What people are told by e-mail. A notice is written in the transaction of what it tells of (a transactional outbox), so that none is
 * lost and none tells of what was undone. Whoever has no address is not told, and that is never an error.
 */
import type { AuditEntry } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import type { MemberRole } from '../member-role.ts'
import type { ProposalKind } from '../proposal-kind.ts'
import * as table from './notices.sql.ts'

/** What each kind tells. Facts, not text: the words are found when the message is composed. */
export interface NoticeFacts {
  readonly 'sign-in': { readonly environment: Environment; readonly address: string; readonly userAgent: string }
  readonly application: {
    readonly environment: Environment
    readonly client: string
    readonly partner: string
    readonly scopes: readonly string[]
    readonly address: string | null
  }
  /** Of what happened to accounts: closed, or no longer held. */
  readonly 'access-ended': {
    readonly environment: Environment
    readonly client: string
    readonly partner: string
    readonly accounts: readonly string[]
    readonly ended: boolean
    readonly reason: string
  }
  readonly address: GuardFacts & { readonly changed: 'set' | 'replaced' | 'removed' }
  readonly password: GuardFacts
  readonly 'second-factor': GuardFacts & {
    readonly change: 'added' | 'removed' | 'reset' | 'locked'
    readonly factor: string | null
  }
  readonly 'recovery-codes': GuardFacts
  readonly 'api-token': GuardFacts & { readonly environment: Environment; readonly name: string }
  readonly 'webhook-failing': WebhookFacts & { readonly since: string }
  readonly 'webhook-disabled': WebhookFacts & { readonly reason: string }
  readonly 'secret-expiring': {
    readonly environment: Environment
    readonly partner: string
    readonly branchId: number
    readonly client: string
    readonly madeAt: string
    readonly endsAt: string
    readonly lastUsedAt: string | null
  }
  readonly 'partner-decided': PartnerFacts & {
    readonly status: 'approved' | 'declined' | 'suspended'
    readonly reason: string | null
  }
  /** Without its text: what others wrote is read behind a sign-in. */
  readonly 'partner-message': PartnerFacts & { readonly readBy: 'partner' | 'brokerage' }
  /** To an address, whoever reads there. The link is found when the message is composed: see invitation-link.ts. */
  readonly invitation: PartnerFacts & {
    readonly role: MemberRole
    readonly invitedBy: string | null
    readonly expiresAt: string
    readonly seed: string
    readonly tokenHash: string
  }
  /** For whoever forgot theirs. The link is found when the message is composed: see invitation-link.ts. */
  readonly 'password-reset': { readonly seed: string; readonly tokenHash: string; readonly expiresAt: string }
  /** Somebody of the staff signed in past their provider. */
  readonly 'staff-password': {
    readonly name: string
    readonly environment: Environment
    readonly from: string | null
    readonly userAgent: string | null
  }
  readonly 'member-joined': PartnerFacts & { readonly name: string; readonly role: MemberRole }
  /** Whom it is about is read behind a sign-in. */
  readonly proposal: { readonly kind: ProposalKind; readonly proposalId: number; readonly expiresAt: string }
  readonly 'break-glass': { readonly kind: ProposalKind; readonly by: string; readonly subject: string }
  /** An entry of the log that ends in somebody's power (src/audit/powers.ts). The trigger `tell_of_power` writes it. */
  readonly power: Pick<AuditEntry, 'action' | 'actor' | 'subject' | 'details'> & {
    /** Of the people it names. */
    readonly names: Readonly<Record<string, string>>
  }
}

interface PartnerFacts {
  readonly partner: string
  readonly branchId: number
}

/** Of what would hand an account to somebody else. */
export interface GuardFacts {
  readonly byHolder: boolean
  readonly from: string | null
  readonly userAgent: string | null
  /** The address that this goes to was replaced or removed lately. */
  readonly former?: boolean
  /** It stands for all of its kind within the hour. */
  readonly more?: boolean
}

interface WebhookFacts {
  readonly environment: Environment
  readonly partner: string
  readonly branchId: number
  readonly webhookId: number
  readonly url: string
}

export type NoticeKind = keyof NoticeFacts

/** Of a user. An invitation goes to an address. */
export type PersonalKind = Exclude<NoticeKind, 'invitation'>

export type GuardKind = 'address' | 'password' | 'second-factor' | 'recovery-codes' | 'api-token'

/** Those of partners' members, and of whoever answers them. The others guard the account: whoever took it over would decline them first. */
export const declinable = [
  'webhook-failing',
  'webhook-disabled',
  'secret-expiring',
  'partner-decided',
  'partner-message',
  'member-joined',
] as const
export type DeclinableKind = (typeof declinable)[number]

/** Of the brokerage's staff, who cannot decline them. */
export const staffKinds = ['proposal', 'break-glass', 'power', 'staff-password'] as const

/** Of one kind to one person in a day: what comes beyond has been told often enough. */
export const noticesADay = 20

/** For so long an address that was replaced or removed is told of what would hand the account to somebody else. */
export const formerMs = 30 * day

/** Holds still whoever else tells the same person, so that what was told a moment ago is seen. */
export async function lockNoticesOf(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.lockRecipient, [`notices:${userId}`])
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
  const { kind, key, facts, email, mostADay = noticesADay } = notice
  const values = [userId, kind, `${kind}:${key}`, facts, email, now, after(now, -day), mostADay]
  return (await sql.query(table.insertNotice, values)).length > 0
}

/** What would hand the account to somebody else is told to its address and to those of before. A change of address is told by a trigger (migrations/0005-notices.sql). */
export async function tellOwner(
  sql: Sql,
  userId: string,
  kind: Exclude<GuardKind, 'address'>,
  facts: object,
  now: Date,
): Promise<void> {
  await sql.query(table.tellOwner, [userId, kind, facts, now])
}

/** To an address of which nobody knows whether there is a user behind it. Whoever calls has held the address still, and counted. */
export async function tellAddress(
  sql: Sql,
  email: string,
  notice: { readonly key: string; readonly facts: NoticeFacts['invitation'] },
  now: Date,
): Promise<void> {
  await sql.query(table.insertForAddress, [email, 'invitation', `invitation:${notice.key}`, notice.facts, now])
}

/** Holds still whoever else writes to the same address; answers how much went there since then, and how much this partner sent. */
export async function countMail(sql: Sql, email: string, branchId: number, since: Date): Promise<MailCount> {
  await sql.query(table.lockRecipient, [`notices:${email.toLowerCase()}`])
  const [count] = await sql.query<MailCount>(table.countForAddress, [email, branchId, since])
  return count!
}

interface MailCount {
  readonly toAddress: number
  readonly byPartner: number
}

/** A notice as its recipient sees it. */
export interface NoticeSeen {
  readonly id: number
  readonly kind: PersonalKind
  readonly email: string
  readonly state: 'waiting' | 'sent' | 'given up'
  readonly createdAt: Date
}

export function listNotices(sql: Sql, userId: string, most: number): Promise<NoticeSeen[]> {
  return sql.query<NoticeSeen>(table.selectNoticesOf, [userId, most])
}

/** How often they were told of a kind since then, and when last. */
export async function countTold(
  sql: Sql,
  userId: string,
  kind: PersonalKind,
  since: Date,
): Promise<{ readonly count: number; readonly lastAt: Date | null }> {
  const [told] = await sql.query<{ count: number; lastAt: Date | null }>(table.countTold, [userId, kind, since])
  return told!
}

/** Whether the very same was told since then. */
export async function wasTold<Kind extends NoticeKind>(
  sql: Sql,
  userId: string,
  kind: Kind,
  facts: NoticeFacts[Kind],
  since: Date,
): Promise<boolean> {
  return (await sql.query(table.selectTold, [userId, kind, facts, since])).length > 0
}

/** What `tellMembers` needs before the values of its own. */
export function memberLimits(now: Date): readonly unknown[] {
  return [now, after(now, -day), noticesADay]
}
