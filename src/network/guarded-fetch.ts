/**
 * How a provider is asked, and the address of a client's keys. Who names the address is not trusted with it:
 * each is judged where it is dialled, by the guard of webhooks (SSRF); no redirect is followed, and an answer
 * has a time and a size.
 */
import { getCACertificates } from 'node:tls'
import type { CustomFetchOptions } from 'openid-client'
import { codeOf } from '../text/thrown.ts'
import { type GuardPolicy, isAllowedAddress, literalOf } from './address-guard.ts'
import { openResolver } from './resolver.ts'

export type GuardedFetch = (url: string, options: CustomFetchOptions) => Promise<Response>

export const fetchTimeoutMs = 5_000
const usualAnswerBytes = 512 * 1024

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
  readonly answerBytes?: number
  /** What allows more. Left out where whoever reads the words cannot change it. */
  readonly settings?: { readonly networks: string; readonly authority: string }
}

export function openGuardedFetch(network: Network): GuardedFetch {
  const { policy, settings, answerBytes = usualAnswerBytes } = network
  let opening: Promise<Fetcher> | undefined
  return async (url, { method, headers, body, signal }) => {
    const { hostname, host } = new URL(url)
    const literal = literalOf(hostname)
    if (literal !== undefined && !isAllowedAddress(literal, policy))
      throw new Unreachable(
        `${host} is an address that is not allowed${settings ? `; ${settings.networks} names those that are` : ''}`,
      )
    opening ??= openAsking({ ...network, answerBytes })
    const deadline = AbortSignal.any([AbortSignal.timeout(fetchTimeoutMs), ...(signal ? [signal] : [])])
    const sent = { method, headers, body: body == null ? null : String(body), signal: deadline }
    const answer = await (await opening)(url, sent).catch((error: unknown) => {
      const problem =
        codeOf(error) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
          ? `answers with more than ${answerBytes / 1024} KiB`
          : `does not answer: ${wordsOf(error, settings)}`
      throw new Unreachable(`${host} ${problem}`, { cause: error })
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
async function openAsking({
  policy,
  dnsServers,
  authority,
  answerBytes,
}: Network & { readonly answerBytes: number }): Promise<Fetcher> {
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

function wordsOf(error: unknown, settings: Network['settings']): string {
  const { name, message } = error instanceof Error ? error : { name: '', message: 'the connection failed' }
  const code = codeOf(error)
  if (name === 'TimeoutError' || name === 'AbortError')
    return `no answer within ${fetchTimeoutMs / 1_000} seconds`
  if (code !== undefined && unknownAuthority.has(code))
    return `${code}: nobody that this gateway knows vouches for its certificate${settings ? `; ${settings.authority} names those who do` : ''}`
  if (code === 'FORBIDDEN_ADDRESS')
    return settings ? `${message} ${settings.networks} names private networks that are.` : message
  return code ?? message
}

/** The part of an error that says that the host could not be reached. */
export function findUnreachable(error: unknown): Unreachable | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof Unreachable) return each
  return undefined
}
