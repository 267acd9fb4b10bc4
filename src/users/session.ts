/** Browser sessions. The id is a secret known to the browser alone; the database holds its hash. */
import { type Actor, recordAct } from '../audit/audit.ts'
import { after, hour, minute } from '../clock.ts'
import { issueToken, parseToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
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
  readonly authenticatedAt: Date
}

export interface Browser {
  readonly address: string
  readonly userAgent: string
}

interface SessionRow extends Omit<User, 'id'> {
  readonly id: number
  readonly user_id: string
  readonly authenticated_at: Date
  readonly last_seen_at: Date
}

/** Always a new id: one that was known before the sign-in is worth nothing after it. */
export async function openSession(sql: Sql, user: User, environment: Environment, browser: Browser, now: Date) {
  const token = issueToken('session', environment)
  const userAgent = browser.userAgent.slice(0, 300)
  await sql.query(table.insertSession, [token.hash, user.id, environment, now, browser.address, userAgent])
  return token
}

export async function findSession(
  sql: Sql,
  presented: string | undefined,
  environment: Environment,
  now: Date,
  /** What a page asks by itself is no sign of a person, and does not keep the session alive. */
  isPerson = true,
): Promise<Session | undefined> {
  const token = presented === undefined ? undefined : parseToken(presented)
  if (token?.kind !== 'session' || token.environment !== environment) return undefined
  const limits = [after(now, -idleMs), after(now, -absoluteMs)]
  const [row] = await sql.query<SessionRow>(table.selectSession, [token.hash, environment, ...limits])
  if (!row) return undefined
  if (isPerson && now.getTime() - row.last_seen_at.getTime() > minute)
    await sql.query(table.touchSession, [row.id, now])
  const { id, user_id, authenticated_at, username, name, role, status, created_at } = row
  return {
    id,
    token,
    authenticatedAt: authenticated_at,
    user: { id: user_id, username, name, role, status, created_at },
  }
}

export function isFresh(session: Session, now: Date): boolean {
  return now.getTime() - session.authenticatedAt.getTime() <= freshMs
}

export async function closeSession(sql: Sql, session: Session, by: Actor, now: Date): Promise<void> {
  await sql.query(table.deleteSession, [session.token.hash])
  await recordAct(sql, by, 'session.closed', `user:${session.user.id}`, now)
}

export async function closeSessionsOf(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.deleteSessionsOf, [userId])
}

export async function removeDeadSessions(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(table.deleteDeadSessions, [after(now, -idleMs), after(now, -absoluteMs)])).length
}
