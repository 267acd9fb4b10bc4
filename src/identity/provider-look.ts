/** A provider as a sign-in would find it, looked at from outside: nothing is kept, and nobody is told. */
import type { Clock } from '../clock.ts'
import { type GuardedFetch, Unreachable } from './guarded-fetch.ts'
import type { Provider } from './provider.ts'

export interface ProviderLook {
  /** What keeps people from signing in there, with what to do about it; undefined when nothing does. */
  readonly problem?: { readonly found: string; readonly advice: string }
  /** How far this machine is ahead of the provider, by the second; undefined when it does not say what time it is. */
  readonly aheadMs?: number | undefined
}

interface Metadata {
  readonly issuer?: unknown
  readonly jwks_uri?: unknown
}

const asked = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

export async function lookAtProvider(fetch: GuardedFetch, clock: Clock, provider: Provider): Promise<ProviderLook> {
  const { issuer } = provider
  try {
    const answer = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, asked)
    const date = Date.parse(answer.headers.get('date') ?? '')
    const aheadMs = Number.isNaN(date) ? undefined : clock.now().getTime() - date
    const problem = await findProblem(fetch, issuer, answer)
    return { ...(problem && { problem }), aheadMs }
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    const advice =
      'Nobody can sign in there until it answers; whoever is signed in goes on. Ask whoever runs it, and look at the network between.'
    return { problem: { found: `is away: ${error.message}`, advice } }
  }
}

async function findProblem(fetch: GuardedFetch, issuer: string, answer: Response): Promise<ProviderLook['problem']> {
  const metadata = answer.ok ? ((await answer.json().catch(() => undefined)) as Metadata | undefined) : undefined
  if (!metadata)
    return {
      found: `has no metadata at ${issuer}/.well-known/openid-configuration (status ${answer.status})`,
      advice: 'Is the issuer right? Remove the provider, and add it with the issuer as it writes it itself.',
    }
  if (metadata.issuer !== issuer)
    return {
      found: `calls itself ${String(metadata.issuer)}, not ${issuer}`,
      advice: 'Its answers are refused. Remove the provider, and add it with the issuer as it writes it itself.',
    }
  return findKeyProblem(fetch, metadata)
}

async function findKeyProblem(fetch: GuardedFetch, { jwks_uri: address }: Metadata): Promise<ProviderLook['problem']> {
  const answer = typeof address === 'string' ? await fetch(address, asked) : undefined
  const document = answer?.ok ? ((await answer.json().catch(() => ({}))) as { keys?: unknown }) : {}
  const keys = Array.isArray(document.keys) ? (document.keys as { kty?: string; use?: string }[]) : []
  if (keys.some(({ kty, use }) => kty !== 'oct' && use !== 'enc')) return undefined
  const advice = 'Its ID tokens cannot be checked, and are refused. Ask whoever runs it for its signing keys.'
  return { found: `has no key that signs at ${String(address)}`, advice }
}
