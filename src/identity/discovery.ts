/**
 * A provider is asked what it says of itself: metadata and keys. Whoever signs in, the test and the doctor
 * ask in the same way.
 */
import type { JWKS } from 'openid-client'
import type { GuardedFetch } from '../network/guarded-fetch.ts'
import type { Provider } from './provider.ts'
import { ProviderMistaken, parseKeys, parseMetadata, type SaidMetadata, tellNoMetadata } from './said.ts'

const asked = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

export interface Discovered extends SaidMetadata {
  /** What time it is there, by the second, where it says so. */
  readonly date: Date | undefined
}

/** Throws `Unreachable` and `ProviderMistaken`. */
export async function discover(
  fetch: GuardedFetch,
  provider: Pick<Provider, 'issuer' | 'label'>,
  allowLoopback: boolean,
): Promise<Discovered> {
  const answer = await fetch(`${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, asked)
  if (!answer.ok) throw new ProviderMistaken(tellNoMetadata(`it answers with status ${answer.status}`))
  const said = await readJson(answer)
  const date = new Date(answer.headers.get('date') ?? '')
  return {
    ...parseMetadata(said, provider, allowLoopback),
    date: Number.isNaN(date.getTime()) ? undefined : date,
  }
}

/** Throws `Unreachable` and `ProviderMistaken`. */
export async function askForKeys(fetch: GuardedFetch, address: string): Promise<JWKS> {
  const answer = await fetch(address, asked)
  const keys = parseKeys(answer.ok ? await readJson(answer) : undefined)
  if (keys.keys.length === 0) throw new ProviderMistaken(`It has no key that signs at ${address}.`)
  return keys
}

async function readJson(answer: Response): Promise<unknown> {
  return answer.json().catch(() => undefined)
}
