/**
 * The second step of a sign-in. Between the steps the browser holds a sealed note that the password was
 * right; it opens nothing by itself, ends after five minutes or ten wrong codes, with all sessions of its
 * user, and is worth nothing once the password has changed. Guesses are counted in buckets of their own,
 * which a right password does not clear; a hundred wrong codes in a row lock the app.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { minute } from '../clock.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { recordGuardedAct } from './guarded-act.ts'
import { type KnownDevice, markPassword, recognise } from './known-device.ts'
import type { LoginDependencies } from './login-dependencies.ts'
import { countAttempt, forgive, type LoginAttempt, secondStepName } from './login-throttle.ts'
import { type PasskeyAnswer, type PasskeySite, usePasskey } from './passkey.ts'
import { useRecoveryCode } from './recovery-code.ts'
import * as table from './second-step-failures.sql.ts'
import type { SessionUpstream } from './session.ts'
import { openSignedIn, type SignInOrigin } from './signed-in.ts'
import { countWrongCode, forgiveWrongCodes, useTotpCode } from './totp.ts'
import type { User, UserWithPassword } from './user.ts'
import { holdUserWithPassword, selectUserWithPassword } from './users.sql.ts'

const lifetimeMs = 5 * minute

export interface FirstStep {
  readonly userId: string
  readonly passwordMark: string
  readonly at: number
  /** How often the user had failed at the second step when this one began. */
  readonly failuresBefore: number
  /** The provider that vouched instead of a password. */
  readonly upstream?: UpstreamStep
}

/** As the note can hold it. */
interface UpstreamStep {
  readonly provider: string
  readonly authenticatedAt: number
  readonly providerId: number
  readonly subject: string
  readonly sid?: string
  readonly vouches: boolean
  readonly idToken?: string
}

export function noteUpstream(
  provider: string,
  authenticatedAt: Date,
  upstream: SessionUpstream,
): UpstreamStep {
  const { providerId, subject, sid, vouches, idToken } = upstream
  // Browsers keep four kilobytes: without it, the provider asks the user once more at sign-out.
  const fits = idToken !== undefined && idToken.length <= 1_800
  return {
    ...{ provider, authenticatedAt: authenticatedAt.getTime(), providerId, subject, vouches },
    ...(sid !== undefined && { sid }),
    ...(fits && { idToken: idToken.toString('base64url') }),
  }
}

function openUpstream({ upstream, at }: FirstStep): SessionUpstream | undefined {
  if (!upstream) return undefined
  const { providerId, subject, sid, vouches, idToken } = upstream
  const sealed = idToken === undefined ? undefined : Buffer.from(idToken, 'base64url')
  return { providerId, subject, sid, vouchedAt: new Date(at), vouches, ownSecondStep: true, idToken: sealed }
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
  const text =
    sealed === undefined ? undefined : vault.open(purposeOf(environment), Buffer.from(sealed, 'base64url'))
  const step = text === undefined ? undefined : (JSON.parse(text) as FirstStep)
  return step && now.getTime() - step.at < lifetimeMs ? step : undefined
}

export async function countSecondStepFailures(sql: Sql, userId: string): Promise<number> {
  const [counted] = await sql.query(table.selectFailures, { userId })
  return counted?.failures ?? 0
}

/** Written so that a note without a number is over. */
function isOver({ failuresBefore }: FirstStep, failures: number): boolean {
  return !(failures - failuresBefore < table.failuresThatEnd)
}

/** A user whose password was right, while it still is. */
export interface PendingSignIn {
  readonly user: User
  readonly step: FirstStep
}

/** Whether the password of the first step is still theirs, and lets them in. */
function isStillRight(
  { passwordMark }: FirstStep,
  found: UserWithPassword | undefined,
): found is UserWithPassword {
  return found?.status === 'active' && markPassword(found.passwordHash) === passwordMark
}

export async function findPendingSignIn(sql: Sql, step: FirstStep): Promise<PendingSignIn | undefined> {
  const [found] = await sql.query(selectUserWithPassword, { id: step.userId })
  if (!isStillRight(step, found)) return undefined
  if (isOver(step, await countSecondStepFailures(sql, step.userId))) return undefined
  const { passwordHash: _, ...user } = found
  return { user, step }
}

export type Proof =
  | { readonly kind: 'authenticator app'; readonly code: string }
  | { readonly kind: 'recovery code'; readonly code: string }
  | ({ readonly kind: 'passkey'; readonly site: PasskeySite } & PasskeyAnswer)

type SecondStep =
  | { readonly kind: 'signed-in'; readonly session: Token; readonly device: KnownDevice }
  | { readonly kind: 'refused' }
  /** So many codes were wrong that it begins again with the password. */
  | { readonly kind: 'over' }
  | { readonly kind: 'address-must-wait'; readonly retryAfterSeconds: number }

export async function takeSecondStep(
  { db, limits, vault, opensByPassword, isStillVouched }: Omit<LoginDependencies, 'passwords'>,
  { user, step }: PendingSignIn,
  proof: Proof,
  /** The device as the browser presents it. */
  from: SignInOrigin & { readonly device: KnownDevice | undefined },
  act: Act,
): Promise<SecondStep> {
  const { browser } = from
  const { at: now } = act
  // The note names the password that was right, and its holder is judged by that one.
  const known = recognise(from.device, { id: user.id, passwordMark: step.passwordMark }, now)
  const device = known === undefined ? undefined : `second:${known}`
  const who = { username: secondStepName(user), address: browser.address, knownDevice: device }
  const [key] = vault.derive('login-throttle')
  const attempt = await countAttempt(db, limits, who, key, now)
  if (!attempt.addressAllowed)
    return { kind: 'address-must-wait', retryAfterSeconds: attempt.retryAfterSeconds }
  if (!attempt.userAllowed) return { kind: 'refused' }
  const upstream = openUpstream(step)
  return db.transaction<SecondStep>(async (sql) => {
    if (upstream && !(await isStillVouched(sql, user, upstream, new Date(step.at)))) return { kind: 'over' }
    const [found] = await sql.query(holdUserWithPassword, { id: user.id })
    if (!isStillRight(step, found)) return { kind: 'over' }
    const held = await sql.one(table.lockFailures, { userId: user.id })
    if (isOver(step, held.failures)) return { kind: 'over' }
    if (!(await acceptProof(sql, vault, user.id, proof, now)))
      return recordFailure(sql, { user, step }, proof, attempt, act)
    await forgiveWrongCodes(sql, user.id, proof.kind === 'recovery code')
    await forgive(sql, attempt)
    if (!step.upstream) await opensByPassword?.(sql, user, act)
    const proven = {
      ...{ user, passwordMark: step.passwordMark, known },
      proofs: {
        passwordAt: new Date(step.upstream?.authenticatedAt ?? step.at),
        factorAt: now,
        byPasskey: proof.kind === 'passkey',
      },
      upstream,
      details: { secondFactor: proof.kind, ...(step.upstream && { provider: step.upstream.provider }) },
    }
    return { kind: 'signed-in', ...(await openSignedIn(sql, proven, from, act)) }
  })
}

async function recordFailure(
  sql: Sql,
  { user, step }: PendingSignIn,
  proof: Proof,
  attempt: LoginAttempt,
  act: Act,
): Promise<SecondStep> {
  const subject = `user:${user.id}`
  const action = attempt.startsWait ? 'session.throttled' : 'session.refused'
  await recordAct(sql, act, action, subject, { at: 'second step' })
  if (proof.kind === 'authenticator app' && (await countWrongCode(sql, user.id, act.at)))
    await recordGuardedAct(sql, act, 'second_factor.locked', user.id, { factor: 'authenticator app' })
  const counted = await sql.one(table.countFailure, { userId: user.id })
  return { kind: isOver(step, counted.failures) ? 'over' : 'refused' }
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
