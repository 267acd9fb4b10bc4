/**
 * The second factors of a user. A user with one is asked for it at every sign-in, on both sites. The first
 * one comes with recovery codes and ends every other session, because those were opened with the password
 * alone.
 */
import type { Act } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { Acr } from '../vocabulary/acr.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { lockUser } from './api-tokens.sql.ts'
import { recordGuardedAct } from './guarded-act.ts'
import {
  addPasskey,
  listPasskeys,
  type Passkey,
  type PasskeyAnswer,
  type PasskeySite,
  passkeysPerUser,
  removePasskey,
  removePasskeysOf,
} from './passkey.ts'
import { countRecoveryCodes, makeRecoveryCodes, removeRecoveryCodes } from './recovery-code.ts'
import { type Browser, closeSessionsOf, isStrong, openSession, type Session } from './session.ts'
import { deleteSession } from './sessions.sql.ts'
import { meetsAny } from './sign-in-facts.ts'
import { addTotp, findTotp, removeTotp, type TotpFactor } from './totp.ts'
import type { User } from './user.ts'

export interface SecondFactors {
  readonly totp: TotpFactor | undefined
  /** Of both sites. */
  readonly passkeys: readonly Passkey[]
  readonly recoveryCodes: number
}

export async function findSecondFactors(sql: Sql, userId: string): Promise<SecondFactors> {
  return {
    totp: await findTotp(sql, userId),
    passkeys: await listPasskeys(sql, userId),
    recoveryCodes: await countRecoveryCodes(sql, userId),
  }
}

export function isGuarded({ totp, passkeys }: SecondFactors): boolean {
  return totp !== undefined || passkeys.length > 0
}

/** Whether the app takes no code until its owner comes back with a recovery code. */
export function isLocked({ totp }: SecondFactors): boolean {
  return totp !== undefined && totp.lockedAt !== null
}

export async function hasSecondFactor(sql: Sql, userId: string): Promise<boolean> {
  return isGuarded(await findSecondFactors(sql, userId))
}

/**
 * Whether a user with a second factor gave it minutes ago; true for users without one. Where a provider says
 * when it was given, that is what counts, or the one of ours that stands in for it.
 */
export async function hasProvenFactor(sql: Sql, session: Session, now: Date): Promise<boolean> {
  if (isStrong(session, now)) return true
  const { upstream } = session
  if (upstream?.vouches) return false
  const counts = upstream === undefined || upstream.ownSecondStep
  return !counts || !(await hasSecondFactor(sql, session.user.id))
}

/** To have one, or to have given it in this session. */
export type FactorLack = 'factor' | 'proof'

/** What a session lacks where a second factor is demanded; one that a provider says was given is one. */
export async function findFactorLack(
  sql: Sql,
  { user, proofs, upstream }: Session,
): Promise<FactorLack | undefined> {
  if (upstream && proofs.factorAt) return undefined
  if (upstream?.vouches) return 'proof'
  // No step here could give one: to ask again would lead in circles.
  if (upstream && !upstream.ownSecondStep) return 'factor'
  if (!(await hasSecondFactor(sql, user.id))) return 'factor'
  return proofs.factorAt === undefined ? 'proof' : undefined
}

/**
 * What a session lacks of the ways to sign in that an application asks for, of which the weakest is enough
 * (RFC 9470): to sign in once more, to have a second factor or a passkey, or what no sign-in here could give.
 */
export type SignInLack = 'proof' | 'factor' | 'passkey' | 'hopeless'

export async function findSignInLack(
  sql: Sql,
  session: Session,
  asked: readonly Acr[],
): Promise<SignInLack | undefined> {
  if (meetsAny(session, asked)) return undefined
  const { upstream, user } = session
  const stepsIn = upstream === undefined || (upstream.ownSecondStep && !upstream.vouches)
  if (asked.includes('password')) return 'proof'
  if (!asked.includes('second-factor')) {
    // Whoever signs in at a provider proves a passkey here as the second step, or not at all.
    if (!stepsIn) return 'hopeless'
    return (await listPasskeys(sql, user.id)).length > 0 ? 'proof' : 'passkey'
  }
  if (upstream && !upstream.vouches && !upstream.ownSecondStep) return 'hopeless'
  return findFactorLack(sql, session)
}

/** A user who changes how they sign in, and from where. */
export interface Holder {
  readonly session: Session
  readonly environment: Environment
  readonly browser: Browser
  readonly act: Act
}

interface FactorResult {
  /** Shown once; none when there were some already. */
  readonly recoveryCodes: readonly string[]
  /**
   * The same session under a new id. Setting up a factor proves nothing about the user before: the session's
   * proofs stay.
   */
  readonly session: Token
}

/** Undefined when there is an app already. */
export function addAuthenticatorApp(
  db: Sql,
  vault: Vault,
  holder: Holder,
  proven: { secret: string; step: number },
): Promise<FactorResult | undefined> {
  return db.transaction(async (sql) => {
    const { session, act } = holder
    const { user } = session
    const before = await findSecondFactors(sql, user.id)
    if (!(await addTotp(sql, vault, user.id, proven, act.at))) return undefined
    return finishAdding(sql, holder, before, { factor: 'authenticator app' })
  })
}

/** Undefined when the browser's answer proves nothing, or there are as many as there may be. */
export function addSecondPasskey(
  db: Sql,
  vault: Vault,
  site: PasskeySite,
  holder: Holder,
  answered: PasskeyAnswer & { name: string },
): Promise<FactorResult | undefined> {
  return db.transaction(async (sql) => {
    const { session, act } = holder
    const { user } = session
    await sql.query(lockUser, { id: user.id })
    const before = await findSecondFactors(sql, user.id)
    if (before.passkeys.length >= passkeysPerUser) return undefined
    if (!(await addPasskey(sql, vault, site, user.id, answered, act.at))) return undefined
    return finishAdding(sql, holder, before, { factor: `passkey “${answered.name}”` })
  })
}

async function finishAdding(
  sql: Sql,
  { session, environment, browser, act }: Holder,
  before: SecondFactors,
  details: { readonly factor: string },
): Promise<FactorResult> {
  const { user } = session
  await recordGuardedAct(sql, act, 'second_factor.added', user.id, details)
  if (isGuarded(before)) await sql.query(deleteSession, { hash: session.token.hash })
  else await closeSessionsOf(sql, user.id)
  const recoveryCodes = isGuarded(before) ? [] : await replaceCodes(sql, user.id, act)
  return { recoveryCodes, session: await openSession(sql, user, environment, browser, act.at, session) }
}

export function renewRecoveryCodes(db: Sql, userId: string, act: Act): Promise<readonly string[]> {
  return db.transaction((sql) => replaceCodes(sql, userId, act))
}

async function replaceCodes(sql: Sql, userId: string, act: Act): Promise<string[]> {
  await recordGuardedAct(sql, act, 'recovery_codes.made', userId, {})
  return makeRecoveryCodes(sql, userId, act.at)
}

/** A second click finds nothing to remove. */
export function removeAuthenticatorApp(db: Sql, userId: string, act: Act): Promise<void> {
  return db.transaction(async (sql) => {
    if (await removeTotp(sql, userId)) await finishRemoving(sql, userId, { factor: 'authenticator app' }, act)
  })
}

export function removeSecondPasskey(db: Sql, userId: string, id: number, act: Act): Promise<void> {
  return db.transaction(async (sql) => {
    const name = await removePasskey(sql, userId, id)
    if (name !== undefined) await finishRemoving(sql, userId, { factor: `passkey “${name}”` }, act)
  })
}

/** With the last factor the recovery codes go: alone they would guard nothing. */
async function finishRemoving(
  sql: Sql,
  userId: string,
  details: { readonly factor: string },
  act: Act,
): Promise<void> {
  await recordGuardedAct(sql, act, 'second_factor.removed', userId, details)
  if (!(await hasSecondFactor(sql, userId))) await removeRecoveryCodes(sql, userId)
}

/** For people who lost everything, by an operator who has made sure who asks. Every session ends. */
export function resetSecondFactor(db: Sql, user: User, act: Act): Promise<void> {
  return db.transaction(async (sql) => {
    await removeTotp(sql, user.id)
    await removePasskeysOf(sql, user.id)
    await removeRecoveryCodes(sql, user.id)
    await closeSessionsOf(sql, user.id)
    await recordGuardedAct(sql, act, 'second_factor.reset', user.id, {})
  })
}
