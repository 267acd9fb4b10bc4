/**
 * One wide line a request, without anything that could be a secret: routes instead of addresses, no headers,
 * no bodies.
 */
import fs from 'node:fs'
import { isatty } from 'node:tty'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Problem } from '../problem.ts'
import { codeOf } from '../text/thrown.ts'
import { addressOf } from './addresses.ts'
import { hearOfLeaving } from './leaving.ts'
import { printForTerminal } from './terminal-log.ts'

/**
 * The caller that a request was recognised to come from, as far as it is known. Never what a client merely
 * claims.
 */
export interface RequestIdentity {
  readonly clientId?: string | undefined
  readonly branchId?: number | undefined
  readonly userId?: string | undefined
  readonly serviceId?: string | undefined
  readonly credentialId?: number | undefined
}

/** A whole problem, or the code alone. */
interface RequestRefusal extends Pick<Problem, 'code'>, Partial<Pick<Problem, 'message' | 'fields'>> {
  /** The rule behind it, where neither code nor words tell it. */
  readonly rule?: string | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    who: RequestIdentity | undefined
    /** Whose credentials they were, where they count no more, or not so. */
    formerly: RequestIdentity | undefined
    /** The error that was answered. */
    refusal: RequestRefusal | undefined
    /** What will be demanded of this caller, and was not met. */
    unmet: readonly string[] | undefined
  }
}

const maybeSecret = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'client_secret',
  'code',
  'token',
  'access_token',
  'refresh_token',
]

const flushEveryMs = 200

/** What a pipe takes at once, whichever other process writes to it. */
const atOnceBytes = 4 * 1024

/**
 * Lines are written together, a few times a second; the last ones when the process ends. Several processes
 * write so little at once that no line of one comes into a line of another. A terminal is for a person.
 */
export function openOutput(level: string, isShared = false): DestinationStream {
  const sizes = isShared ? { minLength: atOnceBytes / 2, maxWrite: atOnceBytes } : { minLength: 4 * 1024 }
  const output = pino.destination({ fd: 1, sync: false, ...sizes, maxLength: 16 * 1024 * 1024 })
  setInterval(() => output.flush(), flushEveryMs).unref()
  process.once('exit', () => output.flushSync())
  // Before the stream's own last words, too.
  process.prependOnceListener('exit', takeForWritten)
  if (!isatty(1)) return output
  const showsAll = level === 'debug' || level === 'trace'
  return {
    write(line) {
      const shown = printForTerminal(line, showsAll)
      if (shown !== undefined) output.write(shown)
    },
  }
}

/**
 * The stream tries again and again, for ever, whatever keeps it from writing its last lines. A reader that is
 * gone does not come back: what cannot be written is taken for written, so that the process ends.
 */
function takeForWritten(): void {
  const write = fs.writeSync as (fd: number, text: string | Buffer, ...rest: unknown[]) => number
  const writeOrDrop: typeof write = (fd, text, ...rest) => {
    try {
      return write(fd, text, ...rest)
    } catch (error) {
      if (canComeBack.has(codeOf(error) ?? '')) throw error
      return Buffer.byteLength(text)
    }
  }
  Object.assign(fs, { writeSync: writeOrDrop })
}

/** There is a reader, and it is slow. */
const canComeBack = new Set(['EAGAIN', 'EBUSY'])

export function openLog(level: string, destination: DestinationStream = process.stdout): Logger {
  const paths = maybeSecret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths, censor: '[redacted]' } },
    destination,
  )
}

/**
 * For wide lines, whose fields are ours and never a secret. Looking through every line for names that might
 * be one costs as much as the rest of a request; errors, which hold whatever they were thrown with, are still
 * looked through.
 */
export function wideLines(log: Logger): Logger {
  return log.child({}, { redact: [] })
}

/**
 * Beside Fastify's own logger, which costs every request a child logger and two lines. Routes whose log level
 * is silent leave no line: health is asked for every few seconds. When the level keeps no such lines, no
 * request is touched.
 */
export function logRequests(app: FastifyInstance, lines: Logger): void {
  if (!lines.isLevelEnabled('info')) return
  app.addHook('onResponse', (request, reply, done) => {
    logAnswer(lines, request, reply)
    done()
  })
  // A client that leaves before the answer gets none, and no answer is ever finished.
  hearOfLeaving(app, (request) => lines.info({ ...describeRequest(request), aborted: true }, 'request'))
}

export function logAnswer(lines: Logger, request: FastifyRequest, reply: FastifyReply): void {
  if (request.routeOptions.logLevel === 'silent') return
  lines.info(
    {
      ...describeRequest(request),
      status: reply.statusCode,
      refusal: request.refusal?.code,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      bytes_out: countBytes(reply.getHeader('content-length')),
    },
    'request',
  )
}

/** What Node's parser refuses is no request yet, and leaves its line all the same. */
export function logBrokenRequest(
  lines: Logger,
  requestId: string,
  status: number,
  address: string | undefined,
): void {
  lines.info({ request_id: requestId, route: 'none', address, status, refusal: 'invalid_request' }, 'request')
}

/** Fields that are undefined are left out of the line. */
function describeRequest(request: FastifyRequest): object {
  const { who } = request
  return {
    request_id: request.id,
    method: request.method,
    route: addressOf(request).url,
    address: request.ip,
    client: who?.clientId,
    branch: who?.branchId,
    user: who?.userId,
    service: who?.serviceId,
    credential: who?.credentialId,
    trace_id: request.span?.traceId,
    bytes_in: countBytes(request.headers['content-length']),
  }
}

/** Undefined for a body that comes or goes in chunks without a declared length. */
function countBytes(header: unknown): number | undefined {
  return header === undefined ? undefined : Number(header)
}
