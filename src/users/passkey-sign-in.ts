/**
 * A sign-in by a passkey alone. The device has it and has verified the person, so it counts as the password
 * and as the second factor. It lets in whom a password of ours would let in; whatever is wrong, the answer is
 * the same.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Token } from '../crypto/token.ts'
import { type KnownDevice, markPassword, recognise } from './known-device.ts'
import type { LoginDependencies } from './login-dependencies.ts'
import { countAttempt, forgive } from './login-throttle.ts'
import { findOwner, type PasskeyAnswer, type PasskeySite, usePasskey } from './passkey.ts'
import { openSignedIn, type SignInOrigin } from './signed-in.ts'
import type { User, UserWithPassword } from './user.ts'
import { holdUserWithPassword, selectUserWithPassword } from './users.sql.ts'

interface PasskeyDependencies
  extends Pick<LoginDependencies, 'db' | 'limits' | 'vault' | 'holdersUsePasswords'> {
  /** Not where staff sign in at a provider: what is left to them beside it is told to others. */
  readonly staffUsePasskeys: boolean
}

type PasskeySignIn =
  | { readonly kind: 'signed-in'; readonly user: User; readonly session: Token; readonly device: KnownDevice }
  | { readonly kind: 'refused' }
  | { readonly kind: 'address-must-wait'; readonly retryAfterSeconds: number }

export async function signInByPasskey(
  deps: PasskeyDependencies,
  site: PasskeySite,
  answer: PasskeyAnswer,
  /** The device as the browser presents it. */
  from: SignInOrigin & { readonly device: KnownDevice | undefined },
  act: Act,
): Promise<PasskeySignIn> {
  const { db, limits, vault } = deps
  const { at: now } = act
  const owner = await findOwner(db, site, answer.response)
  const [found] = owner ? await db.query(selectUserWithPassword, { id: owner.userId }) : []
  const mark = markPassword(found?.passwordHash ?? null)
  const known = recognise(from.device, found && { id: found.id, passwordMark: mark }, now)
  // No guess is ever right: what is counted keeps an address from trying without end, and nobody out.
  const who = {
    username: `passkey\n${owner?.credentialId ?? ''}`,
    address: from.browser.address,
    knownDevice: known === undefined ? undefined : `passkey:${known}`,
  }
  const [key] = vault.derive('login-throttle')
  const attempt = await countAttempt(db, limits, who, key, now)
  if (!attempt.addressAllowed)
    return { kind: 'address-must-wait', retryAfterSeconds: attempt.retryAfterSeconds }
  return db.transaction<PasskeySignIn>(async (sql) => {
    const [held] = found ? await sql.query(holdUserWithPassword, { id: found.id }) : []
    const isProven =
      held !== undefined &&
      isLetIn(deps, held) &&
      (await usePasskey(sql, vault, site, held.id, answer, now, 'first'))
    if (!isProven) {
      const subject = found ? `user:${found.id}` : 'user:unknown'
      await recordAct(sql, act, 'session.refused', subject, { at: 'passkey' })
      return { kind: 'refused' }
    }
    await forgive(sql, attempt)
    const { passwordHash, ...user } = held
    const proven = {
      ...{ user, passwordMark: markPassword(passwordHash), known, upstream: undefined },
      proofs: { passwordAt: now, factorAt: now, byPasskey: true },
      details: { proof: 'passkey' },
    }
    return { kind: 'signed-in', user, ...(await openSignedIn(sql, proven, from, act)) }
  })
}

/** Who has no password here signs in at a provider, which may have reasons to refuse them. */
function isLetIn(
  { holdersUsePasswords, staffUsePasskeys }: PasskeyDependencies,
  { status, passwordHash, role }: UserWithPassword,
): boolean {
  const isAWay = role === 'operator' ? staffUsePasskeys : holdersUsePasswords
  return status === 'active' && passwordHash !== null && isAWay
}
