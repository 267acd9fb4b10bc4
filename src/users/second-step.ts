/**
 * The second step of a sign-in. Between the steps the browser holds a sealed note that the password was right; it opens
 * nothing by itself, ends after five minutes, and is worth nothing once the password has changed. Guesses are counted in
 * buckets of their own, which a right password does not clear.
 */
import { type Actor, recordAct } from '../audit/audit.ts'
import { minute } from '../clock.ts'
import { fingerprint } from '../crypto/hash.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import { cut } from '../cut.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import type { LoginDesk } from './login.ts'
import { countAttempt, forgive, secondStepName } from './login-throttle.ts'
import { type Answered, type PasskeySite, usePasskey } from './passkey.ts'
import { useRecoveryCode } from './recovery-code.ts'
import { type Browser, openSession, type Session } from './session.ts'
import { deleteSession } from './sessions.sql.ts'
import { tellOfSignIn } from './sign-in-notice.ts'
import { useTotpCode } from './totp.ts'
import type { User } from './user.ts'
import { selectUserWithPassword } from './users.sql.ts'

const lifetimeMs = 5 * minute

export interface FirstStep {
  readonly userId: string
  readonly passwordMark: string
  readonly at: number
}

/** What tells one stored password from the next without telling anything of it. */
export function markPassword(passwordHash: string): string {
  return Buffer.from(fingerprint(passwordHash), 'latin1').toString('base64url')
}

const purposeOf = (environment: Environment) => `first-step:${environment}`

export function sealFirstStep(vault: Vault, environment: Environment, step: FirstStep): string {
  return vault.seal(purposeOf(environment), JSON.stringify(step)).toString('base64url')
}

export function openFirstStep(
  vault: Vault,
  environment: Environment,
  sealed: string | undefined,
  now: Date,
): FirstStep | undefined {
  const text = sealed === undefined ? undefined : vault.open(purposeOf(environment), Buffer.from(sealed, 'base64url'))
  const step = text === undefined ? undefined : (JSON.parse(text) as FirstStep)
  return step && now.getTime() - step.at < lifetimeMs ? step : undefined
}

/** The user whose password was right, while it still is. */
export async function findStepUser(sql: Sql, step: FirstStep): Promise<User | undefined> {
  const [found] = await sql.query<User & { password_hash: string }>(selectUserWithPassword, [step.userId])
  if (found?.status !== 'active' || markPassword(found.password_hash) !== step.passwordMark) return undefined
  const { password_hash: _, ...user } = found
  return user
}

export type Proof =
  | { readonly kind: 'authenticator app'; readonly code: string }
  | { readonly kind: 'recovery code'; readonly code: string }
  | ({ readonly kind: 'passkey'; readonly site: PasskeySite } & Answered)

export type SecondStep =
  | { readonly kind: 'signed-in'; readonly session: Token }
  | { readonly kind: 'refused' }
  | { readonly kind: 'address-must-wait'; readonly retryAfterSeconds: number }

export async function takeSecondStep(
  { db, limits, vault }: Pick<LoginDesk, 'db' | 'limits' | 'vault'>,
  user: User,
  proof: Proof,
  from: {
    environment: Environment
    browser: Browser
    requestId: string
    previous: Session | undefined
    knownDevice: string | undefined
  },
  now: Date,
): Promise<SecondStep> {
  const { environment, browser, requestId, previous } = from
  const by: Actor = { name: `user:${user.id}`, environment, address: browser.address, requestId }
  const device = from.knownDevice === undefined ? undefined : `second:${from.knownDevice}`
  const who = { username: secondStepName(user), address: browser.address, knownDevice: device }
  const attempt = await countAttempt(db, limits, who, vault.derive('login-throttle')[0]!, now)
  if (!attempt.addressAllowed) return { kind: 'address-must-wait', retryAfterSeconds: attempt.retryAfterSeconds }
  const subject = `user:${user.id}`
  return db.transaction<SecondStep>(async (sql) => {
    if (!attempt.userAllowed) return { kind: 'refused' }
    if (!(await acceptProof(sql, vault, user.id, proof, now))) {
      const act = attempt.startsWait ? 'session.throttled' : 'session.refused'
      await recordAct(sql, { ...by, name: 'anonymous' }, act, subject, now, { at: 'second step' })
      return { kind: 'refused' }
    }
    if (previous) await sql.query(deleteSession, [previous.token.hash])
    await forgive(sql, limits, attempt)
    const confirms = previous?.user.id === user.id
    const details = { userAgent: cut(browser.userAgent, 300), secondFactor: proof.kind }
    await recordAct(sql, by, confirms ? 'session.confirmed' : 'session.opened', subject, now, details)
    if (!confirms && from.knownDevice === undefined) await tellOfSignIn(sql, user.id, environment, browser, now)
    const firstSeenAt = confirms ? previous.firstSeenAt : now
    return {
      kind: 'signed-in',
      session: await openSession(sql, user, environment, browser, now, { firstSeenAt, strongAt: now }),
    }
  })
}

function acceptProof(sql: Sql, vault: Vault, userId: string, proof: Proof, now: Date): Promise<boolean> {
  switch (proof.kind) {
    case 'authenticator app':
      return useTotpCode(sql, vault, userId, proof.code, now)
    case 'recovery code':
      return useRecoveryCode(sql, userId, proof.code, now)
    case 'passkey':
      return usePasskey(sql, vault, proof.site, userId, proof, now)
  }
}
