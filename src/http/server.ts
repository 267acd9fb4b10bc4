/**
 * The HTTP server of a listener: limits, parsers, request ids, security headers, errors, health. Knows no
 * brokerage.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import type { Logger } from 'pino'
import { NotFound, Problem } from '../problem.ts'
import type { Limits } from '../settings/config.ts'
import { collectAddresses, findMisuse, routerOptions } from './addresses.ts'
import { addBodyParsers } from './body.ts'
import { answerBrokenRequest, type BrokenRequest, refuseTunnel } from './broken-request.ts'
import { takeCertificates } from './client-certificate.ts'
import { type DoorOptions, guardEntrance, isHealthCheck } from './door.ts'
import { errorHandler, type PrintPage, sendProblem } from './errors.ts'
import { parseForm } from './form.ts'
import { hasIdleTimeout } from './idle-timeout.ts'
import { hearOfLeaving } from './leaving.ts'
import { logAnswer, logBrokenRequest, logRequests, wideLines } from './log.ts'
import { addMutualListener, anyCertificate, isElsewhere, type MutualOptions } from './mutual-tls.ts'
import { openSchemaCompilers, type SchemaCompilers } from './schema-compilers.ts'
import { secure } from './secure.ts'
import { type OpenSpan, traceRequests } from './spans.ts'

/**
 * Imported, it would bring along all of Node's own fetch and WebSocket, which no module here uses: ten
 * megabytes.
 */
const { createServer } = process.getBuiltinModule('node:http')

type RequestListener = (request: FastifyRequest, reply: FastifyReply) => void

declare module 'fastify' {
  interface FastifyInstance {
    /** All that its requests come from. */
    httpServers: Server[]
  }
}

interface ServerTls {
  readonly cert: string
  readonly key: string
  /** Certificates that it has signed let in, and no others. */
  readonly clientAuthority?: string | undefined
}

export interface ServerOptions {
  readonly limits: Limits
  readonly trustProxy: readonly string[]
  /** Those of them whose Client-Cert header counts. */
  readonly certificateProxies?: readonly string[]
  readonly tls: ServerTls | undefined
  /** Of a second listener, which asks for certificates; with `tls`. */
  readonly mutual?: MutualOptions | undefined
  readonly log: Logger
  /** Given where people come too. */
  readonly printErrorPage?: PrintPage
  /** Rejects while the service cannot work; answers what a caller should know beside. */
  readonly checkReady: () => Promise<object>
  /** True when clients must come through https; plain requests are then refused, not redirected. */
  readonly requiresHttps: () => boolean
  /** Given when spans are collected. */
  readonly openSpan?: OpenSpan | undefined
  /** Told of every request that was answered. */
  readonly answered?: RequestListener | undefined
  /** Told of every request that has ended: it was answered, or its caller has left before. */
  readonly ended?: RequestListener | undefined
  readonly turnedAway?: DoorOptions['turnedAway']
  /** Given where several servers share them. */
  readonly compilers?: SchemaCompilers
}

export async function openServer(options: ServerOptions): Promise<FastifyInstance> {
  const { limits, tls } = options
  const lines = wideLines(options.log)
  const timeoutMs = limits.requestTimeoutMs
  const timeouts = {
    // A head that is too large by less than this is read all the same, to be answered in the shape its sender
    // wants.
    maxHeaderSize: 2 * limits.headerBytes,
    requestTimeout: timeoutMs,
    headersTimeout: timeoutMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: Math.min(500, timeoutMs),
  }
  const nextId = countFrom(randomBytes(6).toString('base64url'))
  const logBroken = (requestId: string, { remoteAddress }: Socket, status: number | undefined) =>
    status !== undefined && logBrokenRequest(lines, requestId, status, remoteAddress)
  const httpServers: Server[] = []
  // One queue, whichever listener requests come to.
  const listener = guardEntrance((request, response) => app.routing(request, response), {
    ...{ nextId, log: options.log, turnedAway: options.turnedAway },
  })
  const refuseBroken = (error: BrokenRequest, socket: Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && hasIdleTimeout(socket)) return
    const requestId = nextId()
    logBroken(requestId, socket, answerBrokenRequest(error, socket, requestId))
  }
  const openHttp = (how: TlsOptions | undefined) => {
    const server = how
      ? createSecureServer({ ...how, ...secure, ...timeouts }, listener)
      : createServer(timeouts, listener)
    // Connections beyond are closed unheard: clients that are being served stay so. Of several processes
    // each has its share; without the second word those that are full would hand a connection round and
    // round.
    Object.assign(server, { maxConnections: limits.connections, dropMaxConnection: true })
    server.on('connect', (_request, socket: Socket) => {
      const requestId = nextId()
      logBroken(requestId, socket, refuseTunnel(socket, requestId))
    })
    server.on('clientError', refuseBroken)
    httpServers.push(server)
    return server
  }
  const handleError = errorHandler(options.log, options.printErrorPage)
  // Fastify calls them otherwise than its types say.
  const compilersFactory: object = options.compilers ?? openSchemaCompilers()
  const served: FastifyServerOptions = {
    genReqId: (request: IncomingMessage) => parseRequestId(request.headers['x-request-id']) ?? nextId(),
    bodyLimit: limits.bodyBytes,
    serverFactory: () => openHttp(tls && certificatesOf(tls)),
    ...(options.trustProxy.length > 0 && { trustProxy: [...options.trustProxy] }),
    routerOptions: { ...routerOptions, querystringParser: parseForm },
    schemaController: { compilersFactory },
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        allErrors: true,
        discriminator: true,
        // Faults are told in the words of the schema that found them, with the value that they are about: it
        // may be what tells most.
        verbose: true,
      },
    },
    // Every server has heard already.
    clientErrorHandler: () => {},
    // Addresses that the router cannot read never reach a route; they are answered like everything else.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' })
      handleError(error, request, reply)
      logAnswer(lines, request, reply)
    },
    return503OnClosing: true,
    forceCloseConnections: 'idle',
  }
  const app: FastifyInstance = fastify(served)
  app.decorate('httpServers', httpServers)
  if (tls && options.mutual)
    addMutualListener(app, openHttp({ ...certificatesOf(tls), ...anyCertificate }), options.mutual)

  collectAddresses(app)
  addBodyParsers(app)
  takeCertificates(app, options.certificateProxies ?? [])
  app.decorateRequest('who', undefined)
  app.decorateRequest('formerly', undefined)
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('unmet', undefined)
  app.decorateRequest('span', undefined)
  app.setErrorHandler(handleError)
  if (options.openSpan) traceRequests(app, options.openSpan)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (headLength(request.raw) > limits.headerBytes) return done(tooLargeHead())
    if (options.requiresHttps()) {
      reply.header('strict-transport-security', 'max-age=63072000; includeSubDomains')
      if (request.protocol !== 'https' && !isHealthCheck(request.url)) {
        return done(
          new Problem(400, 'invalid_request', 'Use https. Whatever was sent in the clear should be changed.'),
        )
      }
    }
    // Before anything is made of what came with it.
    const misuse = request.is404 ? findMisuse(request) : undefined
    if (isElsewhere(request)) sendProblem(new NotFound(), request, reply, undefined)
    else if (misuse || !request.is404) done(misuse)
    else sendProblem(new NotFound(), request, reply, options.printErrorPage)
  })
  logRequests(app, lines)
  const { answered, ended } = options
  if (answered || ended)
    app.addHook('onResponse', (request, reply, done) => {
      answered?.(request, reply)
      ended?.(request, reply)
      done()
    })
  if (ended) hearOfLeaving(app, ended)
  addHealth(app, options.checkReady)
  return app
}

function certificatesOf({ cert, key, clientAuthority }: ServerTls): TlsOptions {
  return { cert, key, ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true }) }
}

/** Requests under way are finished; a client that dawdles has as long as it would have had anyway. */
export async function closeServer(app: FastifyInstance, closeTimeoutMs: number): Promise<void> {
  const timer = setTimeout(() => {
    for (const server of app.httpServers) server.closeAllConnections()
  }, closeTimeoutMs)
  await app.close()
  clearTimeout(timer)
}

/** As Node counts it: the address, the names and the values. */
function headLength({ url, rawHeaders }: IncomingMessage): number {
  let length = url?.length ?? 0
  for (const text of rawHeaders) length += text.length
  return length
}

const tooLargeHead = () =>
  new Problem(431, 'invalid_request', 'The address and the headers of the request are too large together.')

function addHealth(app: FastifyInstance, checkReady: () => Promise<object>): void {
  const schema: object = { hide: true }
  app.get('/healthz', { schema, logLevel: 'silent' }, () => ({ status: 'alive' }))
  app.get('/readyz', { schema, logLevel: 'silent' }, async (_request, reply) => {
    try {
      return { status: 'ready', ...(await checkReady()) }
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
 * Any client may name a request, so that its log and ours can be laid side by side; other fields say which
 * client it is. Long enough for every kind of id in use, and too short for a token of ours or a form's, which
 * would otherwise be written down.
 */
function parseRequestId(text: string | string[] | undefined): string | undefined {
  return typeof text === 'string' && /^[\w.-]{1,40}$/.test(text) ? text : undefined
}
