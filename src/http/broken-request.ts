/**
 * What never reaches a route: too large a head, a body that dawdles, no HTTP at all, a tunnel that is asked
 * for.
 */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface BrokenRequest extends Error {
  readonly code?: string
  /** What came last, as far as it was read: bytes, whatever Fastify's types say. */
  readonly rawPacket?: unknown
}

interface Refusal {
  readonly status: 400 | 404 | 408 | 431
  readonly reason: string
  readonly code: 'invalid_request' | 'not_found'
  readonly description: string
}

const code = 'invalid_request'
const tooLarge: Refusal = {
  ...{ status: 431, reason: 'Request Header Fields Too Large', code },
  description: 'The address and the headers of the request are too large together.',
}
const tooSlow: Refusal = {
  ...{ status: 408, reason: 'Request Timeout', code },
  description: 'The request took too long to arrive.',
}
const noHttp: Refusal = {
  ...{ status: 400, reason: 'Bad Request', code },
  description: 'The request is not HTTP as it should be.',
}
const noTunnel: Refusal = {
  ...{ status: 404, reason: 'Not Found', code: 'not_found' },
  description: 'There is nothing at this address.',
}

const refusals = new Map([
  ['HPE_HEADER_OVERFLOW', tooLarge],
  ['ERR_HTTP_REQUEST_TIMEOUT', tooSlow],
])

/** Answers the status, or undefined when the client has gone. */
export function answerBrokenRequest(
  error: BrokenRequest,
  socket: Duplex,
  requestId: string,
): number | undefined {
  // Its headers are not known; what was read of it may tell whether a person waits for a page.
  const read = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1') : ''
  const isPerson = /^accept:[^\r\n]*text\/html/im.test(read)
  return answer(refusals.get(error.code ?? '') ?? noHttp, socket, requestId, isPerson)
}

/** Left to itself, Node closes such a connection without a word. */
export function refuseTunnel(socket: Duplex, requestId: string): number | undefined {
  // No other listener is left: an error of this socket would otherwise end the process.
  socket.on('error', () => {})
  return answer(noTunnel, socket, requestId, false)
}

const brokenTimeoutMs = 1_000

function answer(refusal: Refusal, socket: Duplex, requestId: string, isPerson: boolean): number | undefined {
  if (socket.destroyed) return undefined
  // A client that does not close its side would otherwise keep the connection for ever.
  setTimeout(() => socket.destroy(), brokenTimeoutMs).unref()
  if (!socket.writable) return undefined
  if (isAnswering(socket)) {
    socket.destroy()
    return undefined
  }
  const { status, reason } = refusal
  const body = isPerson ? printPage(refusal, requestId) : printBody(refusal, requestId)
  const head = [
    `content-type: ${isPerson ? 'text/html' : 'application/json'}; charset=utf-8`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    "content-security-policy: default-src 'none'",
    'x-content-type-options: nosniff',
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${head.join('\r\n')}\r\n\r\n${body}`)
  return status
}

/**
 * Whether a part of an answer has left already: a second one would be written into it. Node's own handler
 * asks the same, of the same place; there is no other that tells.
 */
function isAnswering(socket: Duplex): boolean {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null }
  return answer?.headersSent === true
}

function printBody({ code, description }: Refusal, requestId: string): string {
  return JSON.stringify({ error: code, error_description: description, request_id: requestId })
}

function printPage({ reason, description }: Refusal, requestId: string): string {
  const head = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${reason}</title>`
  return `${head}<h1>${reason}</h1><p>${description}</p><p>Request ${requestId}</p></html>`
}
