/** A row of the API's table: method, path, who may call, and what happens. */
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteGenericInterface,
} from 'fastify'
import type { TObject, TSchema } from 'typebox'
import type { Context } from '../../context.ts'
import type { ErrorShape } from '../../http/addresses.ts'
import type { BodyKind, OperationSchema } from '../../http/described-route.ts'
import { Problem } from '../../problem.ts'
import type { Permission } from '../../vocabulary/permission.ts'
import type { ApiGate, CredentialEnvironment, Protection } from '../gates/gate.ts'
import { readFormFault } from './form-fields.ts'

/** `Asked` is what a request holds that its schema lets through. */
export interface Endpoint<Caller, Asked extends RouteGenericInterface = RouteGenericInterface> {
  readonly schema: OperationSchema
  /** Left out of the document of the interface: another row says the same. */
  readonly isHidden?: true
  readonly errors?: ErrorShape
  readonly bodyLimit?: number
  /** What a body must be; JSON unless given. */
  readonly takes?: BodyKind
  /** Public and the same for all clients: pages of any origin may read it. */
  readonly cors?: '*'
  handle(context: Context, caller: Caller, request: FastifyRequest<Asked>, reply: FastifyReply): unknown
}

export interface Route {
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: ErrorShape | undefined
  readonly protection?: Protection | undefined
  readonly permission?: Permission | undefined
  /** Given where it is answered at the internal listener, and not by the sites. */
  readonly environmentOf?: CredentialEnvironment | undefined
  /** Undefined where readers of the interface have nothing of it. */
  readonly schema: OperationSchema | undefined
  readonly takes: BodyKind
  readonly cors: '*' | undefined
  /** Its own stands for all of them. */
  readonly takesEveryMethod?: true
  register(app: FastifyInstance, contextOf: ContextOf): void
}

/** A site has one for all requests. */
type ContextOf = (request: FastifyRequest) => Context

export function route<Caller>(
  method: HTTPMethods,
  path: string,
  gate: ApiGate<Caller>,
  endpoint: Endpoint<Caller>,
): Route {
  const { schema, errors, cors, takes = 'json' } = endpoint
  return {
    ...{ method, path, errors, takes, cors, protection: gate.protection, permission: gate.permission },
    environmentOf: gate.environmentOf,
    schema: endpoint.isHidden ? undefined : schema,
    register(app, contextOf) {
      const callers = new WeakMap<FastifyRequest, Caller>()
      // Where the head alone tells who calls, not a byte of a stranger's body is read, let alone judged.
      const early = schema.body !== undefined && takes !== 'form'
      const admit = async (request: FastifyRequest, reply: FastifyReply) => {
        callers.set(request, await gate(contextOf(request), request, reply))
      }
      const readIntegers = integerReader(schema)
      app.route({
        method,
        url: path,
        // Lines are judged one by one, as they come.
        schema: takes === 'lines' ? withoutBody(schema) : schema,
        // The gate comes first: a stranger learns nothing about what a good request looks like.
        attachValidation: true,
        config: { ...(errors && { errors }), ...(takes === 'lines' && { takesLines: true }) },
        ...(endpoint.bodyLimit !== undefined && { bodyLimit: endpoint.bodyLimit }),
        onRequest: [
          ...(cors ? [allowAnyOrigin] : []),
          ...(takes === 'form' ? [refuseOtherForms] : []),
          ...(early ? [admit] : []),
        ],
        ...(readIntegers && { preValidation: readIntegers }),
        handler: (request, reply) => {
          if (takes !== 'form') refuseOtherMediaTypes(request, takes)
          const context = contextOf(request)
          const caller = early ? (callers.get(request) as Caller) : gate(context, request, reply)
          const proceed = (known: Caller) => {
            const { validationError } = request
            if (validationError) throw takes === 'form' ? readFormFault(validationError) : validationError
            return endpoint.handle(context, known, request, reply)
          }
          return caller instanceof Promise ? caller.then(proceed) : proceed(caller)
        },
      })
    },
  }
}

function withoutBody({ body: _, ...schema }: OperationSchema): Omit<OperationSchema, 'body'> {
  return schema
}

async function allowAnyOrigin(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('access-control-allow-origin', '*')
}

/** One spelling a number: no sign of its own, no leading zero, no exponent. */
const written = /^(?:0|-?[1-9]\d{0,17})$/

/**
 * An address holds text. Where the schema says integer, digits become a number before it is judged; the rest
 * stays, and is refused.
 */
function integerReader({ params, querystring }: OperationSchema) {
  const inPath = integersOf(params)
  const inQuery = integersOf(querystring)
  if (inPath.length + inQuery.length === 0) return undefined
  return async (request: FastifyRequest) => {
    readIntegers(request.params as Record<string, unknown>, inPath)
    readIntegers(request.query as Record<string, unknown>, inQuery)
  }
}

function integersOf(schema: TObject | undefined): string[] {
  const properties: Record<string, TSchema & { type?: string }> = schema?.properties ?? {}
  return Object.entries(properties).flatMap(([name, { type }]) => (type === 'integer' ? [name] : []))
}

function readIntegers(values: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const value = values[name]
    if (typeof value === 'string' && written.test(value)) values[name] = Number(value)
  }
}

export const mediaTypes: Readonly<Record<BodyKind, string>> = {
  form: 'application/x-www-form-urlencoded',
  json: 'application/json',
  lines: 'application/x-ndjson',
}

/**
 * Generated clients name every type that the document lists, and would read a stream to its end: a client
 * that takes JSON as well gets a page.
 */
export function wantsStream({ headers: { accept = '' } }: FastifyRequest): boolean {
  return /text\/event-stream/i.test(accept) && !/application\/json/i.test(accept)
}

/** The parser takes both; an endpoint takes one. */
function refuseOtherMediaTypes(request: FastifyRequest, takes: BodyKind): void {
  if (request.body === undefined && takes !== 'lines') return
  const problem = findOtherMediaType(request, takes)
  if (problem) throw problem
}

function findOtherMediaType({ headers }: FastifyRequest, takes: BodyKind): Problem | undefined {
  const sent = headers['content-type']
  if (sent === mediaTypes[takes]) return undefined
  const [type = ''] = (sent ?? '').split(';')
  return type.trim().toLowerCase() === mediaTypes[takes]
    ? undefined
    : new Problem(415, 'invalid_request', `The body must be ${mediaTypes[takes]}.`)
}

/**
 * A client that sends a form may be known by what is in it. A body that is no form is refused unread, so that
 * what is in it changes nothing.
 */
function refuseOtherForms(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (problem?: Error) => void,
): void {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': coding } = request.headers
  const isSent = Boolean(type) || coding !== undefined || Number(length ?? 0) > 0
  done(isSent ? findOtherMediaType(request, 'form') : undefined)
}
