/** A provider as a sign-in would find it, looked at from outside: nothing is kept, and no notice is sent. */
import { type Clock, second } from '../clock.ts'
import { type GuardedFetch, Unreachable } from '../network/guarded-fetch.ts'
import { ProviderFault } from './claims.ts'
import { askForKeys, discover } from './discovery.ts'
import type { Provider } from './provider.ts'

/** Answers tell the time by the second. ID tokens are taken half a minute early or late. */
export const providerClock = { warnMs: 10 * second, failMs: 30 * second } as const

export interface ProviderLook {
  /** What keeps people from signing in there, with what to do about it; undefined when nothing does. */
  readonly problem?: { readonly found: string; readonly advice: string; readonly why: string }
  /**
   * How far this machine is ahead of the provider, by the second; undefined when it does not say what time it
   * is.
   */
  readonly aheadMs?: number | undefined
}

export async function lookAtProvider(
  fetch: GuardedFetch,
  clock: Clock,
  provider: Provider,
  allowLoopback: boolean,
): Promise<ProviderLook> {
  try {
    const { metadata, date } = await discover(fetch, provider, allowLoopback)
    const aheadMs = date && clock.now().getTime() - date.getTime()
    await askForKeys(fetch, metadata.jwks_uri!)
    return { aheadMs }
  } catch (error) {
    return { problem: tellProblem(provider, error) }
  }
}

function tellProblem({ label }: Provider, error: unknown): NonNullable<ProviderLook['problem']> {
  if (error instanceof Unreachable) {
    const advice =
      'Nobody can sign in there until it answers; whoever is signed in goes on. Ask whoever runs it, and look at the network between.'
    return { found: `${label} is away: ${error.message}.`, advice, why: error.message }
  }
  if (!(error instanceof ProviderFault)) throw error
  const advice =
    'Nobody can sign in there. Ask whoever runs it, or change how it is set up: countersign provider change.'
  return { found: `${label} cannot be used. ${error.message}`, advice, why: error.message }
}
