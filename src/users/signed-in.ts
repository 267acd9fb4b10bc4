/**
 * The end of every sign-in, by whichever proof: a password, a second factor, or the brokerage's identity
 * provider.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { cut } from '../text/cut.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { type KnownDevice, makeKnown } from './known-device.ts'
import { type Browser, openSession, type Proofs, type Session, type SessionUpstream } from './session.ts'
import { deleteSession } from './sessions.sql.ts'
import { tellOfSignIn } from './sign-in-notice.ts'
import type { User } from './user.ts'

export interface SignInOrigin {
  readonly environment: Environment
  readonly browser: Browser
  /** What this browser had before; it ends. */
  readonly previous: Session | undefined
}

interface SignInProof {
  readonly user: User
  readonly passwordMark: string
  /** The id of the device, when this user has signed in from it before. */
  readonly known: string | undefined
  readonly proofs: Proofs
  readonly upstream: SessionUpstream | undefined
  /** For the entry. */
  readonly details: Record<string, unknown>
}

interface NewSession {
  readonly session: Token
  readonly device: KnownDevice
}

export async function openSignedIn(
  sql: Sql,
  proof: SignInProof,
  origin: SignInOrigin,
  { by, at: now }: Act,
): Promise<NewSession> {
  const { user, passwordMark, known, proofs, upstream, details } = proof
  const { environment, browser, previous } = origin
  const confirms = previous?.user.id === user.id
  const subject = `user:${user.id}`
  const signedIn = { by: { ...by, name: subject }, at: now }
  const about = { userAgent: cut(browser.userAgent, 300), ...details }
  await recordAct(sql, signedIn, confirms ? 'session.confirmed' : 'session.opened', subject, about)
  if (!confirms && known === undefined) await tellOfSignIn(sql, user.id, environment, browser, now)
  const firstSeenAt = confirms ? previous.firstSeenAt : now
  const from = {
    proofs,
    firstSeenAt,
    upstream,
    ...(confirms && { parentId: previous.parentId, instead: previous }),
  }
  const session = await openSession(sql, user, environment, browser, now, from)
  if (previous) await sql.query(deleteSession, { hash: previous.token.hash })
  return { session, device: makeKnown(known, user.id, passwordMark, now) }
}
