/** When and how a person signed in, as OAuth tells it (RFC 9470). A stronger way meets a weaker demand. */
import { type Acr, meets } from '../vocabulary/acr.ts'
import type { Proofs, Session } from './session.ts'

/** What a sign-in is known by; null where nobody says. */
export interface SignInFacts {
  readonly at: Date | null
  readonly acr: Acr | null
}

/** The strongest; undefined in a session that comes from the live site, where nothing was proven here. */
function findAcr({ passwordAt, factorAt, byPasskey }: Proofs): Acr | undefined {
  if (passwordAt === undefined) return undefined
  if (factorAt === undefined) return 'password'
  return byPasskey ? 'passkey' : 'second-factor'
}

/** Whether one of these ways, or a stronger one, was taken; where none is asked for, any. */
export function meetsAny({ proofs }: Session, asked: readonly Acr[]): boolean {
  const acr = findAcr(proofs)
  return asked.length === 0 || asked.some((each) => meets(acr, each))
}

/** Whether all of it was proven since then. */
export function isSignedInSince({ proofs }: Session, bound: Date): boolean {
  const at = findSignInTime(proofs)
  return at !== undefined && at >= bound
}

/**
 * Since when all of it was proven. A provider that does not say when somebody signed in leaves the beginning
 * of time, which is no time.
 */
function findSignInTime({ passwordAt, factorAt = passwordAt }: Proofs): Date | undefined {
  if (passwordAt === undefined || factorAt === undefined) return undefined
  const first = passwordAt < factorAt ? passwordAt : factorAt
  return first.getTime() > 0 ? first : undefined
}

/** Of this session: by the first of the ways that were asked for and that it meets, or by its strongest. */
export function signInFactsOf({ proofs }: Session, asked: readonly Acr[]): SignInFacts {
  const acr = findAcr(proofs)
  return { at: findSignInTime(proofs) ?? null, acr: asked.find((each) => meets(acr, each)) ?? acr ?? null }
}
