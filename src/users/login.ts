/**
 * Sign-in. An unknown user, a wrong password and a user who must wait get the same answer after the same work, so
 * that nothing can be learned about who exists (no user enumeration) or who is under attack.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import { cut } from '../cut.ts'
import type { Database } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { type KnownDevice, makeKnown, markPassword, recognise } from './known-device.ts'
import type { LoginDesk } from './login-desk.ts'
import { countAttempt, forgive, type LoginAttempt } from './login-throttle.ts'
import { passwordMaxBytes, TooManyPasswordChecks } from './password.ts'
import { hasSecondFactor } from './second-factor.ts'
import { countSecondStepFailures, type FirstStep } from './second-step.ts'
import { type Browser, openSession, type Session } from './session.ts'
import { deleteSession } from './sessions.sql.ts'
import { tellOfSignIn } from './sign-in-notice.ts'
import { findUserByUsername, type User } from './user.ts'
import { updatePassword } from './users.sql.ts'

interface LoginCredentials {
  readonly username: string
  readonly password: string
  /** As the browser presents it. */
  readonly device: KnownDevice | undefined
}

type SignIn =
  | { readonly kind: 'signed-in'; readonly user: User; readonly session: Token; readonly device: KnownDevice }
  /** The password was right, and is not enough for this user. */
  | { readonly kind: 'half-way'; readonly step: FirstStep }
  | { readonly kind: 'refused' }
  | { readonly kind: 'address-must-wait'; readonly retryAfterSeconds: number }

export async function signIn(
  { db, passwords, limits, vault }: LoginDesk,
  credentials: LoginCredentials,
  from: { environment: Environment; browser: Browser; previous: Session | undefined },
  act: Act,
): Promise<SignIn> {
  const { password, device } = credentials
  const username = cut(credentials.username.toLowerCase(), 100)
  const { environment, browser } = from
  const { by, at: now } = act

  if (passwords.isCrowded) throw new TooManyPasswordChecks('Too many sign-ins at once.')
  const key = vault.derive('login-throttle')[0]!
  const found = await findUserByUsername(db, username)
  const knownDevice = recognise(device, found && { id: found.id, passwordMark: markPassword(found.passwordHash) }, now)
  const attempt = await countAttempt(db, limits, { username, address: browser.address, knownDevice }, key, now)
  if (!attempt.addressAllowed) {
    return { kind: 'address-must-wait', retryAfterSeconds: attempt.retryAfterSeconds }
  }
  const tooLong = Buffer.byteLength(password) > passwordMaxBytes
  const matches = await passwords.verify(found?.passwordHash, tooLong ? '' : password)
  if (!found || !matches || !attempt.userAllowed || found.status !== 'active') {
    await recordRefusal(db, attempt, found, act)
    return { kind: 'refused' }
  }
  const { passwordHash, ...user } = found
  const outdated = passwords.isOutdated(passwordHash) ? await passwords.hash(password) : undefined
  const mark = markPassword(outdated ?? passwordHash)
  return db.transaction<SignIn>(async (sql) => {
    if (outdated) await sql.query(updatePassword, [user.id, outdated, now])
    if (await hasSecondFactor(sql, user.id)) {
      await forgive(sql, limits, attempt)
      const failuresBefore = await countSecondStepFailures(sql, user.id)
      return { kind: 'half-way', step: { userId: user.id, passwordMark: mark, at: now.getTime(), failuresBefore } }
    }
    if (from.previous) await sql.query(deleteSession, [from.previous.token.hash])
    await forgive(sql, limits, attempt)
    const confirms = from.previous?.user.id === user.id
    const action = confirms ? 'session.confirmed' : 'session.opened'
    const subject = `user:${user.id}`
    const signedIn = { by: { ...by, name: subject }, at: now }
    await recordAct(sql, signedIn, action, subject, { userAgent: cut(browser.userAgent, 300) })
    if (!confirms && knownDevice === undefined) await tellOfSignIn(sql, user.id, environment, browser, now)
    const firstSeenAt = from.previous && confirms ? from.previous.firstSeenAt : now
    const proofs = { passwordAt: now, factorAt: undefined }
    const session = await openSession(sql, user, environment, browser, now, { proofs, firstSeenAt })
    return { kind: 'signed-in', user, session, device: makeKnown(knownDevice, user.id, mark, now) }
  })
}

/** Usernames that do not exist are not written down: people type passwords into that field. */
async function recordRefusal(db: Database, attempt: LoginAttempt, user: User | undefined, act: Act) {
  if (!attempt.userAllowed) return
  const subject = user ? `user:${user.id}` : 'user:unknown'
  await recordAct(db, act, attempt.startsWait ? 'session.throttled' : 'session.refused', subject)
}
