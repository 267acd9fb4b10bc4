/**
 * A provider is asked for its metadata and its keys. Sign-ins, the test and the doctor ask in the same way.
 */
import type { JWKS } from 'openid-client'
import type { GuardedFetch } from '../network/guarded-fetch.ts'
import { ProviderFault, type ProviderMetadata, parseKeys, parseMetadata, tellNoMetadata } from './claims.ts'
import type { Provider } from './provider.ts'

const asked = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

export interface DiscoveryResult extends ProviderMetadata {
  /** What time it is there, by the second, where it says so. */
  readonly date: Date | undefined
}

/** Throws `Unreachable` and `ProviderFault`. */
export async function discover(
  fetch: GuardedFetch,
  provider: Pick<Provider, 'issuer' | 'label'>,
  allowLoopback: boolean,
): Promise<DiscoveryResult> {
  const answer = await fetch(`${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, asked)
  if (!answer.ok) throw new ProviderFault(tellNoMetadata(`it answers with status ${answer.status}`))
  const said = await readJson(answer)
  const date = new Date(answer.headers.get('date') ?? '')
  return {
    ...parseMetadata(said, provider, allowLoopback),
    date: Number.isNaN(date.getTime()) ? undefined : date,
  }
}

/** Throws `Unreachable` and `ProviderFault`. */
export async function askForKeys(fetch: GuardedFetch, address: string): Promise<JWKS> {
  const answer = await fetch(address, asked)
  const keys = parseKeys(answer.ok ? await readJson(answer) : undefined)
  if (keys.keys.length === 0) throw new ProviderFault(`It has no key that signs at ${address}.`)
  return keys
}

/** Undefined for what is no JSON. */
export async function readJson(answer: Response): Promise<unknown> {
  try {
    return await answer.json()
  } catch {
    return undefined
  }
}
