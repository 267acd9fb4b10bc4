/** One wide line a request, without anything that could be a secret: routes instead of addresses, no headers, no bodies. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Logger, pino } from 'pino'

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

export function openLog(level: string, destination: NodeJS.WritableStream = process.stdout): Logger {
  const paths = maybeSecret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths, censor: '[redacted]' } },
    destination,
  )
}

export function logRequest(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  request.log.info(
    {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      address: request.ip,
    },
    'request',
  )
  done()
}
