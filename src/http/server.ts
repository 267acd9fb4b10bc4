/** The HTTP server of one site: limits, parsers, request ids, security headers, errors, health. Knows no brokerage. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
} from 'fastify'
import type { Logger } from 'pino'
import type { Limits } from '../config.ts'
import { NotFound, Problem } from '../problem.ts'
import { addBodyParsers } from './body.ts'
import { type DoorOptions, guardEntrance, isHealthCheck } from './door.ts'
import { errorHandler, type PrintPage, type Refused, sendProblem } from './errors.ts'
import { parseForm } from './form.ts'
import { logAnswer, logBrokenRequest, logRequests, wideLines } from './log.ts'
import { type OpenSpan, traceRequests } from './spans.ts'

export interface ServerOptions {
  readonly limits: Limits
  readonly trustProxy: readonly string[]
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly log: Logger
  readonly printErrorPage: PrintPage
  /** Rejects while the service cannot work. */
  readonly checkReady: () => Promise<void>
  /** True when clients must come through https; plain requests are then refused, not redirected. */
  readonly requiresHttps: () => boolean
  /** Given when somebody collects spans. */
  readonly openSpan?: OpenSpan | undefined
  /** Told of every refusal. */
  readonly refused?: Refused | undefined
  /** Told of every request that was answered. */
  readonly answered?: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined
  readonly turnedAway?: DoorOptions['turnedAway']
}

const methods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export async function openServer(options: ServerOptions): Promise<FastifyInstance> {
  const { limits, tls } = options
  const lines = wideLines(options.log)
  const timeoutMs = limits.requestTimeoutMs
  const patience = {
    maxHeaderSize: limits.headerBytes,
    requestTimeout: timeoutMs,
    headersTimeout: timeoutMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: Math.min(500, timeoutMs),
  }
  const nextId = countFrom(randomBytes(6).toString('base64url'))
  const app = fastify({
    genReqId: (request: IncomingMessage) => parseRequestId(request.headers['x-request-id']) ?? nextId(),
    bodyLimit: limits.bodyBytes,
    serverFactory: (handle: RequestListener) => {
      const listener = guardEntrance(handle, { nextId, log: options.log, turnedAway: options.turnedAway })
      const server = tls ? createSecureServer({ ...tls, ...patience }, listener) : createServer(patience, listener)
      // Those beyond are closed unheard: whoever is being served stays so.
      server.maxConnections = limits.connections
      return server
    },
    ...(options.trustProxy.length > 0 && { trustProxy: [...options.trustProxy] }),
    routerOptions: { querystringParser: parseForm, ignoreTrailingSlash: false, maxParamLength: 100 },
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        allErrors: true,
        discriminator: true,
        // Faults with the value that they are about: it may be what tells most.
        verbose: true,
      },
    },
    clientErrorHandler: (error: Error & { code?: string }, socket: Socket) => {
      const requestId = nextId()
      const status = answerBrokenRequest(error, socket, requestId)
      if (status !== undefined) logBrokenRequest(lines, requestId, status, socket.remoteAddress)
    },
    // Addresses that the router cannot read never reach a route; they are answered like everything else.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' })
      errorHandler(options.log, options.printErrorPage)(error, request, reply)
      logAnswer(lines, request, reply)
    },
    return503OnClosing: true,
    forceCloseConnections: 'idle',
  } as Parameters<typeof fastify>[0]) as unknown as FastifyInstance

  addBodyParsers(app)
  app.decorateRequest('who', undefined)
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('span', undefined)
  app.setErrorHandler(errorHandler(options.log, options.printErrorPage, options.refused))
  app.setNotFoundHandler({}, (request, reply) => sendProblem(new NotFound(), request, reply, options.printErrorPage))
  if (options.openSpan) traceRequests(app, options.openSpan)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (options.requiresHttps()) {
      reply.header('strict-transport-security', 'max-age=63072000; includeSubDomains')
      if (request.protocol !== 'https' && !isHealthCheck(request.url)) {
        return done(new Problem(400, 'invalid_request', 'Use https. Whatever was sent in the clear should be changed.'))
      }
    }
    done()
  })
  logRequests(app, lines)
  const { answered } = options
  if (answered) {
    app.addHook('onResponse', (request, reply, done) => {
      answered(request, reply)
      done()
    })
  }
  addHealth(app, options.checkReady)
  return app
}

/** Requests under way are finished; a client that dawdles has as long as it would have had anyway. */
export async function closeServer(app: FastifyInstance, patienceMs: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), patienceMs)
  await app.close()
  clearTimeout(timer)
}

/** Registers 405 with Allow for every other method of each path. Call it when all routes are known. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { method: HTTPMethods; path: string; errors?: 'api' | 'oauth' | 'page' | undefined }[],
): void {
  const paths = new Map<string, { allowed: HTTPMethods[]; errors: 'api' | 'oauth' | 'page' }>()
  for (const { method, path, errors = 'api' } of routes) {
    const known = paths.get(path) ?? { allowed: [], errors }
    paths.set(path, { ...known, allowed: [...known.allowed, method] })
  }
  for (const [url, { allowed, errors }] of paths) {
    const taken: HTTPMethods[] = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed
    const refused = methods.filter((method) => !taken.includes(method))
    const allow = taken.join(', ')
    app.route({
      method: refused,
      url,
      schema: { hide: true } as object,
      config: { errors },
      exposeHeadRoute: false,
      // Before the body is read: what it holds does not matter.
      onRequest: (request, _reply, done) =>
        done(
          new Problem(
            405,
            'invalid_request',
            `${request.method} is not a method of this endpoint. It takes ${allow}.`,
            { headers: { allow } },
          ),
        ),
      handler: () => {},
    })
  }
}

function addHealth(app: FastifyInstance, checkReady: () => Promise<void>): void {
  const schema = { hide: true } as object
  app.get('/healthz', { schema, logLevel: 'silent' }, () => ({ status: 'alive' }))
  app.get('/readyz', { schema, logLevel: 'silent' }, async (_request, reply) => {
    try {
      await checkReady()
      return { status: 'ready' }
    } catch {
      return reply.status(503).header('retry-after', '1').send({ status: 'not ready' })
    }
  })
}

/** Unique among nodes and restarts by its random beginning, and cheap. */
function countFrom(beginning: string): () => string {
  let count = 0
  return () => `${beginning}-${(++count).toString(36)}`
}

/**
 * Anybody may name a request, so that their log and ours can be laid side by side; who they are is told apart by other fields. Long
 * enough for every kind of id in use, and too short for a token of ours or a form's, which would otherwise be written down.
 */
function parseRequestId(text: string | string[] | undefined): string | undefined {
  return typeof text === 'string' && /^[\w.-]{1,40}$/.test(text) ? text : undefined
}

const brokenPatienceMs = 1_000

/**
 * What Node's parser refuses never reaches a route: too large a head, a body that dawdles, no HTTP at all. Answers the status, or
 * undefined when nobody is left to hear it.
 */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, requestId: string): number | undefined {
  if (socket.destroyed) return undefined
  // Whoever does not close their side would otherwise keep the connection for ever.
  setTimeout(() => socket.destroy(), brokenPatienceMs).unref()
  if (!socket.writable) return undefined
  if (isAnswering(socket)) {
    socket.destroy()
    return undefined
  }
  const [status, reason, description] = explainBrokenRequest(error.code)
  const body = JSON.stringify({ error: 'invalid_request', error_description: description, request_id: requestId })
  const head = [
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${head.join('\r\n')}\r\n\r\n${body}`)
  return status
}

/**
 * Whether a part of an answer has left already: a second one would be written into it. Node's own handler asks the same, of the same
 * place; there is no other that tells.
 */
function isAnswering(socket: Socket): boolean {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null }
  return answer?.headersSent === true
}

function explainBrokenRequest(code: string | undefined): [status: number, reason: string, description: string] {
  if (code === 'HPE_HEADER_OVERFLOW')
    return [431, 'Request Header Fields Too Large', 'The head of the request is too large.']
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request took too long to arrive.']
  return [400, 'Bad Request', 'The request is not HTTP as it should be.']
}
