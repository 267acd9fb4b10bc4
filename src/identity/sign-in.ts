/** What becomes of a user whom a provider vouches for: a session, our own second step, or words. */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { cut } from '../text/cut.ts'
import { type KnownDevice, markPassword, recognise } from '../users/known-device.ts'
import { hasSecondFactor } from '../users/second-factor.ts'
import { countSecondStepFailures, type FirstStep, noteUpstream } from '../users/second-step.ts'
import type { SessionUpstream } from '../users/session.ts'
import { openSignedIn, type SignInOrigin } from '../users/signed-in.ts'
import { setProvidedRoles } from '../users/staff-role.ts'
import type { User } from '../users/user.ts'
import { markSeen } from './identities.sql.ts'
import { LinkedMeanwhile, recogniseVouched } from './identity.ts'
import type { SignInDemands, VerifiedIdentity } from './journey.ts'
import { type Provider, vouches } from './provider.ts'
import { addressStaff, addStaff, nameStaff } from './staff.ts'

type ProviderSignIn =
  | { readonly kind: 'signed-in'; readonly user: User; readonly session: Token; readonly device: KnownDevice }
  | { readonly kind: 'half-way'; readonly step: FirstStep }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'locked' }
  /** What follows takes a second factor, and none was given. */
  | { readonly kind: 'too-weak' }

interface SignInDependencies {
  readonly db: Sql
  readonly vault: Vault
}

type Answer = { readonly vouched: VerifiedIdentity; readonly asked: SignInDemands }
type DeviceOrigin = SignInOrigin & { readonly device: KnownDevice | undefined }

/**
 * A second time from the beginning for a subject that was linked meanwhile; after a second race the sign-in
 * is refused.
 */
export async function signInVouched(
  deps: SignInDependencies,
  provider: Provider,
  answer: Answer,
  from: DeviceOrigin,
  act: Act,
): Promise<ProviderSignIn> {
  for (let time = 0; time < 2; time++)
    try {
      return await signInOnce(deps, provider, answer, from, act)
    } catch (error) {
      if (!(error instanceof LinkedMeanwhile)) throw error
    }
  return refuseUnknown(deps.db, provider, answer.vouched, 'who is linked changes all the while', act)
}

async function refuseUnknown(
  sql: Sql,
  { name }: Provider,
  { subject }: VerifiedIdentity,
  why: string,
  act: Act,
): Promise<ProviderSignIn> {
  const details = { why: cut(why, 300), subject: cut(subject, 255) }
  await recordAct(sql, act, 'identity.unknown', `provider:${name}`, details)
  return { kind: 'unknown' }
}

function signInOnce(
  { db, vault }: SignInDependencies,
  provider: Provider,
  { vouched, asked }: Answer,
  from: DeviceOrigin,
  act: Act,
): Promise<ProviderSignIn> {
  return db.transaction<ProviderSignIn>(async (sql) => {
    const { subject } = vouched
    const about = `provider:${provider.name}`
    const { claimed, roles } = vouched
    const join = roles.length > 0 ? () => addStaff(sql, vouched, act) : undefined
    const said = { subject, claimed, join }
    const found = await recogniseVouched(sql, provider, said, act)
    if (found.kind === 'unknown') return refuseUnknown(sql, provider, vouched, found.why, act)
    const { passwordHash, ...user } = found.user
    if (user.status !== 'active') {
      await recordAct(sql, act, 'session.refused', `user:${user.id}`, { provider: provider.label })
      return { kind: 'locked' }
    }
    if (provider.rolesClaim !== null) await setProvidedRoles(sql, user.id, provider, roles, act)
    if (provider.kind === 'staff') {
      await nameStaff(sql, user, provider, vouched, act)
      await addressStaff(sql, user, provider, vouched, act)
    }
    const upstream = upstreamOf(vault, provider, vouched, act.at)
    const { authenticatedAt, factorAt } = vouched
    await sql.query(markSeen, { issuer: provider.issuer, subject, seenAt: act.at, factorAt })
    const passwordMark = markPassword(passwordHash)
    if (factorAt === undefined && provider.ownSecondStep && (await hasSecondFactor(sql, user.id))) {
      const failuresBefore = await countSecondStepFailures(sql, user.id)
      const note = noteUpstream(provider.label, authenticatedAt, upstream)
      return {
        kind: 'half-way',
        step: { userId: user.id, passwordMark, at: act.at.getTime(), failuresBefore, upstream: note },
      }
    }
    if (asked.factor === 'required' && factorAt === undefined) {
      await recordAct(sql, act, 'identity.refused', about, {
        why: 'it vouched for no second factor',
        userId: user.id,
      })
      return { kind: 'too-weak' }
    }
    const known = recognise(from.device, { id: user.id, passwordMark }, act.at)
    const proofs = { passwordAt: authenticatedAt, factorAt }
    const details = { provider: provider.label }
    const opened = await openSignedIn(
      sql,
      { user, passwordMark, known, proofs, upstream, details },
      from,
      act,
    )
    return { kind: 'signed-in', user, ...opened }
  })
}

export const idTokenPurpose = 'id-token'

function upstreamOf(
  vault: Vault,
  provider: Provider,
  { subject, sid, idToken }: VerifiedIdentity,
  vouchedAt: Date,
): SessionUpstream {
  return {
    ...{ providerId: provider.id, subject, sid, vouchedAt },
    ...{ vouches: vouches(provider), ownSecondStep: provider.ownSecondStep },
    idToken: vault.seal(idTokenPurpose, idToken),
  }
}
