/**
 * A user's own change of password. The old one is guessed no faster here than at sign-in: attempts go into
 * the same buckets. Afterwards every other session is over and this one has a new id, with the proofs that it
 * had before; no device is known any more but this one.
 */
import { recordAct } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { recordGuardedAct } from './guarded-act.ts'
import { type KnownDevice, makeKnown, markPassword, recognise } from './known-device.ts'
import type { LoginDependencies } from './login-dependencies.ts'
import { countAttempt, forgive } from './login-throttle.ts'
import { passwordMaxBytes, refuseCrowd } from './password.ts'
import type { Holder } from './second-factor.ts'
import { closeSessionsOf, openSession } from './session.ts'
import { replacePassword, selectPasswordHash } from './users.sql.ts'

interface PasswordChange {
  readonly current: string
  /** Judged by `findPasswordProblem` before. */
  readonly next: string
  /** As the browser presents it. */
  readonly device: KnownDevice | undefined
}

type PasswordChangeResult =
  | { readonly kind: 'changed'; readonly session: Token; readonly device: KnownDevice }
  | { readonly kind: 'refused' }
  | { readonly kind: 'address-must-wait'; readonly retryAfterSeconds: number }

/** A user who signs in at a provider may have none. */
export async function hasPassword(sql: Sql, userId: string): Promise<boolean> {
  const [stored] = await sql.query(selectPasswordHash, { id: userId })
  return typeof stored?.passwordHash === 'string'
}

/** `alongside` happens in the same transaction, or not at all. */
export async function changePassword(
  { db, passwords, limits, vault }: LoginDependencies,
  { current, next, device }: PasswordChange,
  { session, environment, browser, act }: Holder,
  alongside: (sql: Sql) => Promise<void>,
): Promise<PasswordChangeResult> {
  const { user } = session
  refuseCrowd(passwords, 'known')
  const [key] = vault.derive('login-throttle')
  const [stored] = await db.query(selectPasswordHash, { id: user.id })
  const knownDevice = recognise(
    device,
    stored && { id: user.id, passwordMark: markPassword(stored.passwordHash) },
    act.at,
  )
  const who = { username: user.username, address: browser.address, knownDevice }
  const attempt = await countAttempt(db, limits, who, key, act.at)
  if (!attempt.addressAllowed)
    return { kind: 'address-must-wait', retryAfterSeconds: attempt.retryAfterSeconds }
  const tooLong = Buffer.byteLength(current) > passwordMaxBytes
  const matches = await passwords.verify(stored?.passwordHash ?? undefined, tooLong ? '' : current)
  if (!stored || !matches || !attempt.userAllowed) {
    const action = attempt.startsWait ? 'session.throttled' : 'session.refused'
    if (attempt.userAllowed) await recordAct(db, act, action, `user:${user.id}`, { at: 'password change' })
    return { kind: 'refused' }
  }
  const hash = await passwords.hash(next)
  return db.transaction<PasswordChangeResult>(async (sql) => {
    const [replaced] = await sql.query(replacePassword, {
      id: user.id,
      checked: stored.passwordHash,
      passwordHash: hash,
      updatedAt: act.at,
    })
    if (!replaced) return { kind: 'refused' }
    await closeSessionsOf(sql, user.id)
    await forgive(sql, attempt)
    await recordGuardedAct(sql, act, 'user.password_changed', user.id, {})
    await alongside(sql)
    const opened = await openSession(sql, user, environment, browser, act.at, session)
    return {
      kind: 'changed',
      session: opened,
      device: makeKnown(undefined, user.id, markPassword(hash), act.at),
    }
  })
}
