/**
 * One POST. Ten seconds in all for connecting, headers and body; at most 64 KiB of the answer are read and 8 KiB kept;
 * redirects are not followed. Whatever the receiver does, the outcome is a value and the cost is bounded.
 */
import { Agent } from 'undici'
import { type GuardPolicy, isAllowedAddress, literalOf } from './address-guard.ts'
import { openResolver } from './resolver.ts'

const deadlineMs = 10_000
const readLimitBytes = 64 * 1024
const keptBytes = 8 * 1024

export type Why = 'timeout' | 'dns' | 'tls' | 'connection' | 'protocol' | 'forbidden-address' | 'no-secret'

export type Outcome =
  | { readonly kind: 'accepted'; readonly status: number; readonly response: string }
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly response: string
      readonly retryAfter: string | undefined
    }
  | { readonly kind: 'unreachable'; readonly why: Why }

export interface Post {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

export interface Sender {
  post(message: Post): Promise<Outcome>
  close(): Promise<void>
}

export interface SenderOptions {
  readonly policy: GuardPolicy
  readonly dnsServers: readonly string[]
  readonly certificateAuthority: string | undefined
}

export function openSender({ policy, dnsServers, certificateAuthority }: SenderOptions): Sender {
  const { lookup } = openResolver(policy, dnsServers)
  const agent = new Agent({
    // The lanes bound what is under way. A bound by host would let one webhook starve another on the same host.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 60_000,
    headersTimeout: deadlineMs,
    bodyTimeout: deadlineMs,
    maxHeaderSize: 16 * 1024,
    connect: { lookup, timeout: deadlineMs, ...(certificateAuthority !== undefined && { ca: certificateAuthority }) },
  })
  return {
    post: (message) => {
      const literal = literalOf(new URL(message.url).hostname)
      // A literal address never passes through the look-up hook.
      if (literal !== undefined && !isAllowedAddress(literal, policy)) {
        return Promise.resolve({ kind: 'unreachable', why: 'forbidden-address' })
      }
      return send(agent, message)
    },
    close: () => agent.destroy(),
  }
}

async function send(agent: Agent, { url, headers, body }: Post): Promise<Outcome> {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), deadlineMs)
  try {
    const target = new URL(url)
    const answer = await agent.request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: 'POST',
      headers,
      body,
      signal: deadline.signal,
    })
    const response = await readSome(answer.body)
    const status = answer.statusCode
    if (status >= 200 && status < 300) return { kind: 'accepted', status, response }
    const retryAfter = answer.headers['retry-after']
    return { kind: 'refused', status, response, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter }
  } catch (error) {
    return { kind: 'unreachable', why: deadline.signal.aborted ? 'timeout' : explain(error) }
  } finally {
    clearTimeout(timer)
  }
}

/** Enough to see what the receiver says; a longer answer is cut off together with its connection. */
async function readSome(stream: AsyncIterable<Buffer> & { destroy(): void }): Promise<string> {
  const kept: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    if (length < keptBytes) kept.push(chunk.subarray(0, keptBytes - length))
    length += chunk.length
    if (length > readLimitBytes) {
      stream.destroy()
      break
    }
  }
  // PostgreSQL's text holds every character but this one.
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\uFFFD')
}

function explain(error: unknown): Why {
  const { name = '', code = '', cause } = error as { name?: string; code?: string; cause?: { code?: string } }
  const all = `${name} ${code} ${cause?.code ?? ''}`
  if (/FORBIDDEN_ADDRESS/.test(all)) return 'forbidden-address'
  if (/NAME_UNRESOLVED/.test(all)) return 'dns'
  if (/TIMEOUT|ETIMEDOUT|ABORT/.test(all)) return 'timeout'
  if (/CERT|SSL|TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO/.test(all)) return 'tls'
  if (/HTTPParserError|HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_/.test(all)) return 'protocol'
  return 'connection'
}
