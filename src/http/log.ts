/** One wide line a request, without anything that could be a secret: routes instead of addresses, no headers, no bodies. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type DestinationStream, type Logger, pino } from 'pino'

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

/** Lines are written together, a few times a second; the last ones when the process ends. */
export function openOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, minLength: 4 * 1024, maxLength: 16 * 1024 * 1024 })
  setInterval(() => output.flush(), flushEveryMs).unref()
  process.once('exit', () => output.flushSync())
  return output
}

export function openLog(level: string, destination: DestinationStream = process.stdout): Logger {
  const paths = maybeSecret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths, censor: '[redacted]' } },
    destination,
  )
}

/** Routes whose log level is silent leave no line: health is asked for every few seconds. */
export function requestLogger(log: Logger) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    if (request.routeOptions.logLevel !== 'silent') log.info(describe(request, reply), 'request')
    done()
  }
}

function describe(request: FastifyRequest, reply: FastifyReply): object {
  return {
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    address: request.ip,
  }
}
