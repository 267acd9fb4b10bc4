/**
 * Forward authentication: a proxy asks whether a request may pass, and hands on who it comes from. A door for
 * each way in which proxies tell of the request. No path is looked up: the proxy's route says what it needs.
 */
import { METHODS } from 'node:http'
import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { Context } from '../../context.ts'
import { signAssertion } from '../../forward-auth/assertion.ts'
import { assertionHeader, identityOf } from '../../forward-auth/identity.ts'
import { addressesOf, envoy, forwarded, original } from '../../forward-auth/original-request.ts'
import { requireEnough } from '../../forward-auth/verdict.ts'
import { type Bearer, invalidToken, schemeOf, type TokenScheme } from '../../oauth/bearer.ts'
import { isFor } from '../../oauth/introspection.ts'
import { BearerError } from '../../oauth/oauth-error.ts'
import { Problem } from '../../problem.ts'
import type { Service } from '../../services/service.ts'
import type { Route } from '../frame/route.ts'
import { admitBearer } from '../gates/gates.ts'
import { admitService, environmentOf } from './proxy-gate.ts'
import { type Door, openReader, type ProxyQuestion, requireOneBearer } from './question.ts'

const doors: readonly Door[] = [
  { path: '/forward-auth/forwarded', contract: forwarded },
  { path: '/forward-auth/original', contract: original, tooMany: 403 },
  // The address is the client's own, with its query.
  { path: '/forward-auth/envoy/*', contract: envoy, needsHeader: 'x-countersign-needs' },
]

export const forwardAuthRoutes: readonly Route[] = doors.map(describe)

/** Envoy keeps the client's. Tunnels are refused elsewhere. */
const methods = METHODS.filter((method) => method !== 'CONNECT') as HTTPMethods[]

function describe(door: Door): Route {
  const { path } = door
  const readQuestion = openReader(door)
  return {
    ...{ method: 'GET', path, errors: 'api', takes: 'json', cors: undefined, schema: undefined },
    ...{ takesEveryMethod: true, environmentOf },
    register(app, contextOf) {
      for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
      const schema: object = { hide: true }
      app.route({
        ...{ method: methods, url: path, schema, config: { errors: 'api' }, exposeHeadRoute: false },
        // Before a body is read.
        onRequest(request, reply, done) {
          if (announcesBody(request)) reply.header('connection', 'close')
          try {
            const question = readQuestion(request)
            const answered = answer(contextOf(request), door, question, request, reply)
            if (answered instanceof Promise) answered.catch(done)
          } catch (error) {
            done(error as Error)
          }
        },
        handler: () => {},
      })
    },
  }
}

/**
 * A proxy that names the length of a body and sends none would have its next question on the connection taken
 * for it, cut off wherever the client likes.
 */
function announcesBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return length !== '0' || coding !== undefined
}

/** Without a promise where everything is remembered. */
function answer(
  context: Context,
  door: Door,
  question: ProxyQuestion,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  const refuse = (error: unknown): never => {
    throw translate(door, question, schemeOf(request.headers.authorization) ?? 'Bearer', error)
  }
  const askFor = (service: Service) => {
    const tell = (bearer: Bearer) => {
      request.who = { serviceId: service.id, userId: bearer.userId, clientId: bearer.clientId }
      return letPass(context, question, service, bearer, reply)
    }
    requireOneBearer(question)
    request.who = { serviceId: service.id }
    const { method } = question.original
    const of = { method, addresses: addressesOf(question.original) }
    const bearer = admitBearer(context, request, reply, of)
    return bearer instanceof Promise ? bearer.then(tell) : tell(bearer)
  }
  try {
    const service = admitService(context, request, question.credentials)
    const answered = service instanceof Promise ? service.then(askFor) : askFor(service)
    return answered instanceof Promise ? answered.catch(refuse) : answered
  } catch (error) {
    return refuse(error)
  }
}

function letPass(
  context: Context,
  { original: request, needs }: ProxyQuestion,
  service: Service,
  bearer: Bearer,
  reply: FastifyReply,
): FastifyReply {
  const now = context.clock.now()
  if (!isFor(service, bearer)) throw invalidToken()
  requireEnough(bearer, needs, now.getTime())
  for (const scope of needs.scopes) context.activity.note(bearer, scope, now)
  const identity = identityOf(bearer, service, context.baseUrl)
  reply.header('cache-control', 'no-store').headers(identity.headers)
  if (needs.wantsAssertion)
    reply.header(assertionHeader, signAssertion(context, { bearer, service, identity }, request, now))
  return reply.send()
}

/** As a proxy can hand it on. */
function translate(
  { tooMany }: Door,
  { needs }: ProxyQuestion,
  scheme: TokenScheme,
  error: unknown,
): unknown {
  if (error instanceof BearerError) return error.challenge({ ...needs, scheme })
  if (tooMany && error instanceof Problem && error.status === 429)
    return new Problem(tooMany, error.code, error.message, { headers: error.headers })
  return error
}
