/** Browser sessions. The id is a secret known to the browser alone; the database holds its hash. */

import { type Act, recordAct } from '../audit/audit.ts'
import { after, hour, minute } from '../clock.ts'
import { issueToken, parseToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import type { RowOf } from '../database/statement.ts'
import { cut } from '../text/cut.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './sessions.sql.ts'
import type { User } from './user.ts'

const idleMs = 30 * minute
const absoluteMs = 12 * hour
/** How recent a sign-in must be for acts that move money or hand out lasting power. */
const freshMs = 5 * minute

export interface Session {
  readonly id: number
  readonly token: Token
  /** The one on the live site that it comes from. */
  readonly parentId: number | undefined
  readonly user: User
  readonly firstSeenAt: Date
  readonly proofs: Proofs
  /** Undefined when a password of ours opened it. */
  readonly upstream: SessionUpstream | undefined
}

/**
 * When its owner proved what. Only a proof sets its own time: a session that replaces another takes over what
 * that one had. Where a provider vouches, the times are those that it says.
 */
export interface Proofs {
  /** The password, or a passkey alone; undefined in a session that comes from the live site. */
  readonly passwordAt: Date | undefined
  /** Undefined when the password was all. */
  readonly factorAt: Date | undefined
  /** Whether that was a passkey. */
  readonly byPasskey?: boolean
}

/** The provider that vouched for a session, and the subject. */
export interface SessionUpstream {
  readonly providerId: number
  readonly subject: string
  /** The provider's own session, where it names one. */
  readonly sid: string | undefined
  /** When it did so last, and said what of staff they are. */
  readonly vouchedAt: Date
  /** Whether it says when a second factor was given; and whether ours stands in. */
  readonly vouches: boolean
  readonly ownSecondStep: boolean
  /** For signing out there; sealed. */
  readonly idToken: Buffer | undefined
}

export interface Browser {
  readonly address: string
  readonly userAgent: string
}

type SessionRow = RowOf<typeof table.selectSession>

/** Always a new id: one that was known before the sign-in is worth nothing after it. */
export async function openSession(
  sql: Sql,
  user: User,
  environment: Environment,
  browser: Browser,
  now: Date,
  {
    proofs,
    firstSeenAt = now,
    upstream,
    parentId,
    instead,
  }: {
    proofs: Proofs
    firstSeenAt?: Date
    upstream: SessionUpstream | undefined
    parentId?: number | undefined
    /** Whose place it takes: what comes from that one stays. */
    instead?: Session | undefined
  },
): Promise<Token> {
  const token = issueToken('session', environment)
  const { id } = await sql.one(table.insertSession, {
    hash: token.hash,
    userId: user.id,
    environment,
    createdAt: now,
    address: browser.address,
    userAgent: cut(browser.userAgent, 300),
    firstSeenAt,
    authenticatedAt: proofs.passwordAt,
    strongAt: proofs.factorAt,
    byPasskey: proofs.byPasskey ?? false,
    providerId: upstream?.providerId,
    providerSubject: upstream?.subject,
    providerSid: upstream?.sid,
    providerVouches: upstream?.vouches,
    ownSecondStep: upstream?.ownSecondStep,
    idToken: upstream?.idToken,
    providerVouchedAt: upstream?.vouchedAt,
    parentId,
  })
  if (instead) await sql.query(table.adoptSessions, { id, instead: instead.id })
  return token
}

export async function findSession(
  sql: Sql,
  presented: string | undefined,
  environment: Environment,
  now: Date,
  {
    staffMs = absoluteMs,
    isPerson = true,
  }: {
    /** For how long a provider's word that a user is of the staff is taken. */
    readonly staffMs?: number
    /** What a page asks by itself is no sign of a person, and does not keep the session alive. */
    readonly isPerson?: boolean
  } = {},
): Promise<Session | undefined> {
  const token = presented === undefined ? undefined : parseToken(presented)
  if (token?.kind !== 'session' || token.environment !== environment) return undefined
  const [row] = await sql.query(table.selectSession, {
    ...limitsAt(now),
    hash: token.hash,
    environment,
    vouchedAfter: after(now, -staffMs),
  })
  if (!row) return undefined
  if (isPerson && now.getTime() - row.lastSeenAt.getTime() > minute)
    await sql.query(table.touchSession, { id: row.id, parentId: row.parentId, lastSeenAt: now })
  const {
    id,
    userId,
    authenticatedAt,
    strongAt,
    byPasskey,
    username,
    name,
    role,
    testOf,
    status,
    createdAt,
  } = row
  return {
    id,
    token,
    parentId: row.parentId ?? undefined,
    firstSeenAt: row.firstSeenAt,
    proofs: { passwordAt: authenticatedAt ?? undefined, factorAt: strongAt ?? undefined, byPasskey },
    upstream: upstreamOf(row),
    // A locked user has no session.
    user: { id: userId, username, name, role, testOf, status, lockedBy: null, createdAt },
  }
}

/** What a session that lives was seen and opened after. */
export function limitsAt(now: Date) {
  return { seenAfter: after(now, -idleMs), openedAfter: after(now, -absoluteMs) }
}

function upstreamOf(row: SessionRow): SessionUpstream | undefined {
  if (row.providerId === null) return undefined
  return {
    providerId: row.providerId,
    subject: row.providerSubject!,
    sid: row.providerSid ?? undefined,
    vouchedAt: row.providerVouchedAt!,
    vouches: row.providerVouches!,
    ownSecondStep: row.ownSecondStep!,
    idToken: row.idToken ?? undefined,
  }
}

/** Whether the password was given minutes ago, here or where the session comes from. */
export function isFresh({ proofs }: Session, now: Date): boolean {
  return proofs.passwordAt !== undefined && now.getTime() - proofs.passwordAt.getTime() <= freshMs
}

/** The same of a second factor. */
export function isStrong({ proofs: { factorAt } }: Session, now: Date): boolean {
  return factorAt !== undefined && now.getTime() - factorAt.getTime() <= freshMs
}

export async function closeSession(sql: Sql, session: Session, act: Act): Promise<void> {
  await sql.query(table.deleteSession, { hash: session.token.hash })
  await recordAct(sql, act, 'session.closed', `user:${session.user.id}`)
}

/** One sign-in of a user, as the user sees it. */
export interface SignedInDevice {
  readonly id: number
  readonly environment: Environment
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly address: string
  readonly userAgent: string
}

/** On both sites, most recently used first. */
export function listSessions(sql: Sql, userId: string, now: Date): Promise<SignedInDevice[]> {
  return sql.query(table.selectSessionsOf, { userId, ...limitsAt(now) })
}

/** False when it has ended already, or is another user's. */
export async function closeSessionOf(db: Sql, user: User, id: number, act: Act): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [closed] = await sql.query(table.deleteSessionOf, { id, userId: user.id })
    if (!closed) return false
    const details = { address: closed.address, userAgent: closed.userAgent }
    await recordAct(sql, act, 'session.closed', `user:${user.id}`, details)
    return true
  })
}

/** Every sign-in but this one, on both sites. Answers how many there were. */
export async function closeOtherSessions(db: Sql, session: Session, act: Act): Promise<number> {
  return db.transaction(async (sql) => {
    const closed = await sql.query(table.deleteOtherSessions, {
      userId: session.user.id,
      hash: session.token.hash,
    })
    if (closed.length > 0)
      await recordAct(sql, act, 'session.others_closed', `user:${session.user.id}`, {
        sessions: closed.length,
      })
    return closed.length
  })
}

/** As an operator does it. Answers how many there were. */
export async function closeEverySession(db: Sql, user: User, act: Act): Promise<number> {
  return db.transaction(async (sql) => {
    const closed = await sql.query(table.deleteEverySession, { userId: user.id })
    if (closed.length > 0)
      await recordAct(sql, act, 'session.all_closed', `user:${user.id}`, { sessions: closed.length })
    return closed.length
  })
}

export async function closeSessionsOf(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.deleteSessionsOf, { userId })
}

export async function removeDeadSessions(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(table.deleteDeadSessions, limitsAt(now))).length
}
