/**
 * Sign-in. An unknown user, a wrong password and a user who must wait get the same answer after the same
 * work, so that nothing can be learned about who exists (no user enumeration) or who is under attack.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { cut } from '../text/cut.ts'
import { type KnownDevice, markPassword, recognise } from './known-device.ts'
import type { LoginDependencies } from './login-dependencies.ts'
import { countAttempt, forgive, hasFailures, type LoginAttempt, type LoginLimits } from './login-throttle.ts'
import { passwordMaxBytes, refuseCrowd, type Trust } from './password.ts'
import { hasSecondFactor } from './second-factor.ts'
import { countSecondStepFailures, type FirstStep } from './second-step.ts'
import { openSignedIn, type SignInOrigin } from './signed-in.ts'
import { isTestPassword } from './test-holder.ts'
import { findUserByUsername, type User, type UserWithPassword } from './user.ts'
import { holdPassword, holdTestHolder, rehashPassword } from './users.sql.ts'

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
  { db, passwords, limits, vault, holdersUsePasswords, opensByPassword }: LoginDependencies,
  credentials: LoginCredentials,
  from: SignInOrigin,
  act: Act,
): Promise<SignIn> {
  const { password, device } = credentials
  const username = cut(credentials.username.toLowerCase(), 100)
  const { browser } = from
  const { at: now } = act

  refuseCrowd(passwords, 'known')
  const [key] = vault.derive('login-throttle')
  const found = await findUserByUsername(db, username)
  const knownDevice = recognise(
    device,
    found && { id: found.id, passwordMark: markPassword(found.passwordHash) },
    now,
  )
  const trust = knownDevice === undefined ? await trustOf(db, limits, browser.address, now) : 'known'
  refuseCrowd(passwords, trust)
  const attempt = await countAttempt(
    db,
    limits,
    { username, address: browser.address, knownDevice },
    key,
    now,
  )
  if (!attempt.addressAllowed) {
    return { kind: 'address-must-wait', retryAfterSeconds: attempt.retryAfterSeconds }
  }
  const tooLong = Buffer.byteLength(password) > passwordMaxBytes
  const matches = await passwords.verify(found?.passwordHash ?? undefined, tooLong ? '' : password, trust)
  const isProven =
    found?.role === 'test'
      ? from.environment === 'sandbox' && isTestPassword(vault, found, password)
      : matches && (found?.role === 'operator' || holdersUsePasswords)
  if (!found || !isProven || !attempt.userAllowed || found.status !== 'active') {
    await recordRefusal(db, attempt, found, act)
    return { kind: 'refused' }
  }
  const { passwordHash, ...user } = found
  const isOutdated = passwordHash !== null && passwords.isOutdated(passwordHash)
  const rehashed = isOutdated ? await passwords.hash(password) : undefined
  const mark = markPassword(rehashed ?? passwordHash)
  return db.transaction<SignIn>(async (sql) => {
    // The check took a while, in which others may have changed what was checked.
    if (!(await stillHas(sql, found, rehashed, now))) {
      await recordRefusal(sql, attempt, found, act)
      return { kind: 'refused' }
    }
    if (await hasSecondFactor(sql, user.id)) {
      await forgive(sql, attempt)
      const failuresBefore = await countSecondStepFailures(sql, user.id)
      return {
        kind: 'half-way',
        step: { userId: user.id, passwordMark: mark, at: now.getTime(), failuresBefore },
      }
    }
    await forgive(sql, attempt)
    await opensByPassword?.(sql, user, act)
    const proofs = { passwordAt: now, factorAt: undefined }
    const proven = { user, passwordMark: mark, known: knownDevice, proofs, upstream: undefined, details: {} }
    return { kind: 'signed-in', user, ...(await openSignedIn(sql, proven, from, act)) }
  })
}

/** Until the transaction ends. */
async function stillHas(
  sql: Sql,
  { id, passwordHash }: UserWithPassword,
  rehashed: string | undefined,
  now: Date,
): Promise<boolean> {
  if (passwordHash === null) return (await sql.query(holdTestHolder, { id })).length > 0
  const held = rehashed
    ? await sql.query(rehashPassword, { id, checked: passwordHash, passwordHash: rehashed, updatedAt: now })
    : await sql.query(holdPassword, { id, passwordHash })
  return held.length > 0
}

async function trustOf(sql: Sql, limits: LoginLimits, address: string, now: Date): Promise<Trust> {
  return (await hasFailures(sql, limits, address, now)) ? 'failing' : 'unknown'
}

/** Usernames that do not exist are not written down: people type passwords into that field. */
async function recordRefusal(sql: Sql, attempt: LoginAttempt, user: User | undefined, act: Act) {
  if (!attempt.userAllowed) return
  const subject = user ? `user:${user.id}` : 'user:unknown'
  await recordAct(sql, act, attempt.startsWait ? 'session.throttled' : 'session.refused', subject)
}
