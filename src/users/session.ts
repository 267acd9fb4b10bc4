/** Browser sessions. The id is a secret known to the browser alone; the database holds its hash. */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, hour, minute } from '../clock.ts'
import { issueToken, parseToken, type Token } from '../crypto/token.ts'
import { cut } from '../cut.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import * as table from './sessions.sql.ts'
import type { User } from './user.ts'

const idleMs = 30 * minute
const absoluteMs = 12 * hour
/** How recent a sign-in must be for acts that move money or hand out lasting power. */
const freshMs = 5 * minute

export interface Session {
  readonly id: number
  readonly token: Token
  readonly user: User
  readonly firstSeenAt: Date
  readonly proofs: Proofs
  /** Undefined when a password of ours opened it. */
  readonly upstream: SessionUpstream | undefined
}

/**
 * When its owner proved what. Only a proof sets its own time: a session that replaces another takes over what that one had. Where a provider vouches, the
 * times are those that it says.
 */
export interface Proofs {
  readonly passwordAt: Date
  /** Undefined when the password was all. */
  readonly factorAt: Date | undefined
}

/** Who vouched for a session, and for whom. */
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

interface SessionRow extends Omit<User, 'id'> {
  readonly id: number
  readonly userId: string
  readonly authenticatedAt: Date
  readonly lastSeenAt: Date
  readonly firstSeenAt: Date
  readonly strongAt: Date | null
  readonly providerId: number | null
  readonly providerSubject: string | null
  readonly providerSid: string | null
  readonly providerVouches: boolean | null
  readonly ownSecondStep: boolean | null
  readonly idToken: Buffer | null
  readonly providerVouchedAt: Date | null
}

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
  }: { proofs: Proofs; firstSeenAt?: Date; upstream: SessionUpstream | undefined },
): Promise<Token> {
  const token = issueToken('session', environment)
  const userAgent = cut(browser.userAgent, 300)
  const { passwordAt, factorAt } = proofs
  const values = [token.hash, user.id, environment, now, browser.address, userAgent, firstSeenAt, passwordAt, factorAt]
  const { providerId, subject, sid, vouches, ownSecondStep, idToken, vouchedAt } = upstream ?? {}
  const vouched = [providerId, subject, sid, vouches, ownSecondStep, idToken, vouchedAt]
  await sql.query(table.insertSession, [...values, ...vouched])
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
    /** For how long a provider's word that somebody is of the staff is taken. */
    readonly staffMs?: number
    /** What a page asks by itself is no sign of a person, and does not keep the session alive. */
    readonly isPerson?: boolean
  } = {},
): Promise<Session | undefined> {
  const token = presented === undefined ? undefined : parseToken(presented)
  if (token?.kind !== 'session' || token.environment !== environment) return undefined
  const limits = [after(now, -idleMs), after(now, -absoluteMs), after(now, -staffMs)]
  const [row] = await sql.query<SessionRow>(table.selectSession, [token.hash, environment, ...limits])
  if (!row) return undefined
  if (isPerson && now.getTime() - row.lastSeenAt.getTime() > minute) await sql.query(table.touchSession, [row.id, now])
  const { id, userId, authenticatedAt, username, name, role, status, createdAt } = row
  return {
    id,
    token,
    firstSeenAt: row.firstSeenAt,
    proofs: { passwordAt: authenticatedAt, factorAt: row.strongAt ?? undefined },
    upstream: upstreamOf(row),
    // Whoever is locked has no session.
    user: { id: userId, username, name, role, status, lockedBy: null, createdAt },
  }
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
  return now.getTime() - proofs.passwordAt.getTime() <= freshMs
}

/** The same of a second factor. */
export function isStrong({ proofs: { factorAt } }: Session, now: Date): boolean {
  return factorAt !== undefined && now.getTime() - factorAt.getTime() <= freshMs
}

export async function closeSession(sql: Sql, session: Session, act: Act): Promise<void> {
  await sql.query(table.deleteSession, [session.token.hash])
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
  return sql.query<SignedInDevice>(table.selectSessionsOf, [userId, after(now, -idleMs), after(now, -absoluteMs)])
}

/** False when it has ended already, or is somebody else's. */
export async function closeSessionOf(db: Database, user: User, id: number, act: Act): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [closed] = await sql.query<{ address: string; userAgent: string }>(table.deleteSessionOf, [id, user.id])
    if (!closed) return false
    const details = { address: closed.address, userAgent: closed.userAgent }
    await recordAct(sql, act, 'session.closed', `user:${user.id}`, details)
    return true
  })
}

/** Every sign-in but this one, on both sites. Answers how many there were. */
export async function closeOtherSessions(db: Database, session: Session, act: Act): Promise<number> {
  return db.transaction(async (sql) => {
    const closed = await sql.query(table.deleteOtherSessions, [session.user.id, session.token.hash])
    if (closed.length > 0)
      await recordAct(sql, act, 'session.others_closed', `user:${session.user.id}`, { sessions: closed.length })
    return closed.length
  })
}

/** As an operator does it. Answers how many there were. */
export async function closeEverySession(db: Database, user: User, act: Act): Promise<number> {
  return db.transaction(async (sql) => {
    const closed = await sql.query(table.deleteEverySession, [user.id])
    if (closed.length > 0)
      await recordAct(sql, act, 'session.all_closed', `user:${user.id}`, { sessions: closed.length })
    return closed.length
  })
}

export async function closeSessionsOf(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.deleteSessionsOf, [userId])
}

export async function removeDeadSessions(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(table.deleteDeadSessions, [after(now, -idleMs), after(now, -absoluteMs)])).length
}
