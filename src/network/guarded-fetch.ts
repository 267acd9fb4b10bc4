/**
 * How a provider is asked. Its addresses come from an operator and from its own metadata: each is judged
 * where it is dialled, by the guard of webhooks (SSRF); no redirect is followed, and an answer has a time and
 * a size.
 */
import { getCACertificates } from 'node:tls'
import type { CustomFetchOptions } from 'openid-client'
import { codeOf } from '../text/thrown.ts'
import { type GuardPolicy, isAllowedAddress, literalOf } from './address-guard.ts'
import { openResolver } from './resolver.ts'

export type GuardedFetch = (url: string, options: CustomFetchOptions) => Promise<Response>

export const fetchTimeoutMs = 5_000
const answerBytes = 512 * 1024

/** It cannot be asked now, or not at this address. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

interface Network {
  readonly policy: GuardPolicy
  readonly dnsServers: readonly string[]
  /**
   * PEM, beside those that every program trusts: a brokerage's own provider may have a certificate of its own
   * authority.
   */
  readonly authority?: string | undefined
}

export function openGuardedFetch({ policy, ...network }: Network): GuardedFetch {
  let opening: Promise<Fetcher> | undefined
  return async (url, { method, headers, body, signal }) => {
    const { hostname, host } = new URL(url)
    const literal = literalOf(hostname)
    if (literal !== undefined && !isAllowedAddress(literal, policy))
      throw new Unreachable(
        `${host} is an address that is not allowed; PROVIDER_NETWORKS names those that are`,
      )
    opening ??= openAsking({ policy, ...network })
    const deadline = AbortSignal.any([AbortSignal.timeout(fetchTimeoutMs), ...(signal ? [signal] : [])])
    const sent = { method, headers, body: body == null ? null : String(body), signal: deadline }
    const answer = await (await opening)(url, sent).catch((error: unknown) => {
      throw new Unreachable(`${host} does not answer: ${wordsOf(error)}`, { cause: error })
    })
    if (answer.status >= 500) throw new Unreachable(`${host} answers with status ${answer.status}`)
    return answer
  }
}

interface FetchRequest {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | null
  readonly signal: AbortSignal
}

type Fetcher = (url: string, init: FetchRequest) => Promise<Response>

/** Loaded by the first who signs in at a provider. */
async function openAsking({ policy, dnsServers, authority }: Network): Promise<Fetcher> {
  const { Agent, request } = await import('undici')
  const { lookup } = openResolver(policy, dnsServers)
  const ca = authority === undefined ? {} : { ca: [...getCACertificates(), authority] }
  const dispatcher = new Agent({
    connect: { lookup, timeout: fetchTimeoutMs, autoSelectFamily: true, ...ca },
    ...{
      headersTimeout: fetchTimeoutMs,
      bodyTimeout: fetchTimeoutMs,
      maxResponseSize: answerBytes,
      keepAliveTimeout: 1_000,
    },
  })
  return async (url, { method, headers, body, signal }) => {
    const answer = await request(url, { dispatcher, method: method as 'GET', headers, body, signal })
    const text = await answer.body.text()
    const pairs = Object.entries(answer.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((each): [string, string] => [name, each]),
    )
    const hasBody = ![204, 205, 304].includes(answer.statusCode)
    return new Response(hasBody ? text : null, { status: answer.statusCode, headers: pairs })
  }
}

const unknownAuthority: ReadonlySet<string> = new Set([
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
])

function wordsOf(error: unknown): string {
  const { name, message } = error instanceof Error ? error : { name: '', message: 'the connection failed' }
  const code = codeOf(error)
  if (name === 'TimeoutError' || name === 'AbortError')
    return `no answer within ${fetchTimeoutMs / 1_000} seconds`
  if (code !== undefined && unknownAuthority.has(code))
    return `${code}: nobody that this gateway knows vouches for its certificate; PROVIDER_CA_FILE names those who do`
  if (code === 'FORBIDDEN_ADDRESS') return `${message} PROVIDER_NETWORKS names private networks that are.`
  return code ?? message
}

/** The part of an error that says that the host could not be reached. */
export function findUnreachable(error: unknown): Unreachable | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof Unreachable) return each
  return undefined
}
