/**
 * One POST. Ten seconds in all for connecting, headers and body; at most 64 KiB of the answer are read and 8
 * KiB kept; redirects are not followed. Whatever the receiver does, the outcome is a value and the cost is
 * bounded.
 */
import type { Dispatcher } from 'undici'
import { BoundedMap } from '../../concurrency/bounded-map.ts'
import { type GuardPolicy, isAllowedAddress, literalOf } from '../../network/address-guard.ts'
import { type Connections, openConnections } from '../../network/connections.ts'
import { openResolver } from '../../network/resolver.ts'
import { codeOf } from '../../text/thrown.ts'
import { detailOfAnswer, detailOfError } from './attempt-detail.ts'

const deadlineMs = 10_000
/**
 * A timer that is so late belongs to a process that stood still; what has arrived is read within the second.
 */
const standstillMs = 500
const readMs = 250
const readLimitBytes = 64 * 1024
const keptBytes = 8 * 1024

type FailureReason = 'timeout' | 'dns' | 'tls' | 'connection' | 'protocol' | 'forbidden-address' | 'no-secret'

export type Outcome =
  | { readonly kind: 'accepted'; readonly status: number; readonly response: string }
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly response: string
      readonly retryAfter: string | undefined
      /** The headers that tell who answered, a line each. */
      readonly detail?: string
    }
  | {
      readonly kind: 'unreachable'
      readonly why: FailureReason
      /**
       * What the word does not say: the error's code, the names of a certificate, how far it came in its
       * time.
       */
      readonly detail?: string
    }

/** From the beginning of the attempt; undefined for what it did not come to. */
export interface Timing {
  readonly totalMs: number
  /** Until there was a connection to write to. */
  readonly connectMs: number | undefined
  /** Until the head of the answer. */
  readonly answerMs: number | undefined
}

export interface PostResult {
  readonly outcome: Outcome
  readonly timing: Timing
}

export interface PostRequest {
  readonly url: string
  /** Whose delivery it is. */
  readonly webhookId?: number
  readonly headers: Record<string, string>
  readonly body: string
}

export interface Sender {
  post(message: PostRequest): Promise<PostResult>
  close(): Promise<void>
}

/** What takes deliveries without a network. */
export interface BuiltIn {
  /** Whether it is worth asking. */
  isMeant(message: PostRequest): boolean
  /** Undefined for what is not its own after all. */
  take(message: PostRequest): Promise<Outcome | undefined>
}

export interface SenderOptions {
  readonly policy: GuardPolicy
  readonly dnsServers: readonly string[]
  readonly certificateAuthority: string | undefined
  readonly builtIn?: BuiltIn
}

/** Where a URL leads, worked out once. */
interface Target {
  readonly origin: string
  readonly path: string
  /** False for a literal address that no webhook may dial: it never passes through the look-up hook. */
  readonly isAllowed: boolean
}

const targetBytes = 4 * 1024 * 1024

export function openSender({ policy, dnsServers, certificateAuthority, builtIn }: SenderOptions): Sender {
  const { lookup } = openResolver(policy, dnsServers)
  let opening: Promise<Connections> | undefined
  const open = () => {
    opening ??= openConnections({ deadlineMs, lookup, certificateAuthority })
    return opening
  }
  const targets = new BoundedMap<string, Target>(targetBytes)
  function targetOf(url: string): Target {
    const known = targets.get(url)
    if (known) return known
    const { origin, pathname, search, hostname } = new URL(url)
    const literal = literalOf(hostname)
    const target = {
      origin,
      path: pathname + search,
      isAllowed: literal === undefined || isAllowedAddress(literal, policy),
    }
    targets.set(url, target)
    return target
  }
  async function dial(message: PostRequest): Promise<PostResult> {
    const target = targetOf(message.url)
    if (!target.isAllowed) return notPosted('forbidden-address')
    return send(await open(), target, message)
  }
  return {
    post: (message) => (builtIn?.isMeant(message) ? handOver(builtIn, message, dial) : dial(message)),
    async close() {
      await (await opening)?.close()
    },
  }
}

async function handOver(builtIn: BuiltIn, message: PostRequest, dial: Sender['post']): Promise<PostResult> {
  const startedMs = performance.now()
  const outcome = await builtIn.take(message)
  if (!outcome) return dial(message)
  const totalMs = performance.now() - startedMs
  return { outcome, timing: { totalMs, connectMs: undefined, answerMs: totalMs } }
}

/** An attempt that ended before anything was sent. */
export function notPosted(why: FailureReason): PostResult {
  return {
    outcome: { kind: 'unreachable', why },
    timing: { totalMs: 0, connectMs: undefined, answerMs: undefined },
  }
}

/**
 * Straight on undici's dispatcher: an answer is a few calls of this handler, without a stream or a signal a
 * request.
 */
function send(
  connections: Connections,
  { origin, path }: Target,
  { headers, body }: PostRequest,
): Promise<PostResult> {
  return new Promise((resolve) => {
    const startedMs = performance.now()
    let connectMs: number | undefined
    let answerMs: number | undefined
    const answer: Answer = { status: 0, headers: {}, kept: [], length: 0 }
    let controller: Dispatcher.DispatchController | undefined
    let isOver = false
    const end = (outcome: Outcome) => {
      isOver = true
      clearTimeout(timer)
      resolve({ outcome, timing: { totalMs: performance.now() - startedMs, connectMs, answerMs } })
    }
    /** Ends it here and on the wire. */
    const cut = (outcome: Outcome) => {
      end(outcome)
      controller?.abort(new Error('The attempt is over.'))
    }
    const giveUp = () => cut({ kind: 'unreachable', why: 'timeout', detail: reached(connectMs, answerMs) })
    // A process that stood still finds its timers over before it reads what came meanwhile: an answer that is
    // there counts, however late it is looked at.
    const isLate = () => performance.now() - startedMs > deadlineMs + standstillMs
    let timer = setTimeout(() => {
      if (isLate()) timer = setTimeout(giveUp, readMs)
      else giveUp()
    }, deadlineMs)
    const request = { origin, path, method: 'POST', headers, body } as const
    let isSecond = false
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        connectMs = performance.now() - startedMs
        if (isOver) started.abort(new Error('The attempt is over.'))
      },
      onResponseStart(_controller, statusCode, headers) {
        answer.status = statusCode
        answerMs = performance.now() - startedMs
        answer.headers = headers
      },
      onResponseData(_controller, chunk) {
        if (answer.length < keptBytes)
          answer.kept.push(Buffer.from(chunk.subarray(0, keptBytes - answer.length)))
        answer.length += chunk.length
        // Enough to see what the receiver says; a longer answer is cut off together with its connection.
        if (answer.length > readLimitBytes && !isOver) cut(judgeAnswer(answer))
      },
      onResponseEnd() {
        if (!isOver) end(judgeAnswer(answer))
      },
      onResponseError(_controller, error) {
        if (isOver) return
        // A kept connection that had ended says nothing of the receiver. Once, and within the same deadline.
        const isStale = !isSecond && answer.status === 0 && connections.wasOpenAt(error, startedMs)
        if (!isStale) return end(judgeError(error))
        isSecond = true
        connections.fresh.dispatch(request, handler)
      },
    }
    connections.kept.dispatch(request, handler)
  })
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

interface Answer {
  status: number
  headers: Headers
  readonly kept: Buffer[]
  length: number
}

function judgeAnswer({ status, headers, kept }: Answer): Outcome {
  // PostgreSQL's text holds every character but this one.
  const response = Buffer.concat(kept).toString('utf8').replaceAll('\0', '\uFFFD')
  if (status >= 200 && status < 300) return { kind: 'accepted', status, response }
  const detail = detailOfAnswer(headers)
  const retryAfter = [headers['retry-after']].flat()[0]
  return { kind: 'refused', status, response, retryAfter, ...(detail !== undefined && { detail }) }
}

function judgeError(error: unknown): Outcome {
  const why = explain(error)
  const detail = detailOfError(error)
  return { kind: 'unreachable', why, ...(detail !== undefined && { detail }) }
}

/** How far an attempt came that ran out of time. */
function reached(connectMs: number | undefined, answerMs: number | undefined): string {
  if (connectMs === undefined) return 'no connection'
  return answerMs === undefined ? 'no answer' : 'unfinished answer'
}

function explain(error: unknown): FailureReason {
  const { name, cause } = error instanceof Error ? error : { name: '', cause: undefined }
  const all = `${name} ${codeOf(error) ?? ''} ${codeOf(cause) ?? ''}`
  if (/FORBIDDEN_ADDRESS/.test(all)) return 'forbidden-address'
  if (/NAME_UNRESOLVED/.test(all)) return 'dns'
  if (/TIMEOUT|ETIMEDOUT|ABORT/.test(all)) return 'timeout'
  if (/CERT|SSL|TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO/.test(all)) return 'tls'
  if (/HTTPParserError|HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_/.test(all)) return 'protocol'
  return 'connection'
}
