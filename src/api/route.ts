/** A row of the API's table: method, path, who may call, and what happens. */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { Context } from '../context.ts'
import type { ErrorShape } from '../http/errors.ts'
import { Problem } from '../problem.ts'
import type { Protection } from './protection.ts'

export interface Endpoint<Caller> {
  readonly schema: FastifySchema & { summary: string }
  readonly errors?: ErrorShape
  readonly bodyLimit?: number
  /** What a body must be; JSON unless given. */
  readonly takes?: 'form' | 'json'
  handle(context: Context, caller: Caller, request: FastifyRequest, reply: FastifyReply): unknown
}

/** Finds out who calls, or throws the refusal. */
export interface Gate<Caller> {
  (context: Context, request: FastifyRequest, reply: FastifyReply): Caller | Promise<Caller>
  /** Where a bearer token is taken: what is asked of it. */
  readonly protection?: Protection
}

export interface Route {
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: ErrorShape | undefined
  readonly protection?: Protection | undefined
  register(app: FastifyInstance, context: Context): void
}

export function route<Caller>(
  method: HTTPMethods,
  path: string,
  gate: Gate<Caller>,
  endpoint: Endpoint<Caller>,
): Route {
  return {
    method,
    path,
    errors: endpoint.errors,
    protection: gate.protection,
    register(app, context) {
      const callers = new WeakMap<FastifyRequest, Caller>()
      // Where the head alone tells who calls, not a byte of a stranger's body is read, let alone judged.
      const early = endpoint.schema.body !== undefined && endpoint.takes !== 'form'
      const admit = async (request: FastifyRequest, reply: FastifyReply) => {
        callers.set(request, await gate(context, request, reply))
      }
      app.route({
        method,
        url: path,
        schema: endpoint.schema,
        // The gate comes first: a stranger learns nothing about what a good request looks like.
        attachValidation: true,
        // A form's schema is for its readers: api/form-fields.ts checks what there is to check.
        ...(endpoint.takes === 'form' && { validatorCompiler: () => () => true }),
        config: endpoint.errors ? { errors: endpoint.errors } : {},
        ...(endpoint.bodyLimit !== undefined && { bodyLimit: endpoint.bodyLimit }),
        ...(early && { onRequest: admit }),
        handler: (request, reply) => {
          refuseOtherMediaTypes(request, endpoint.takes ?? 'json')
          const caller = early ? (callers.get(request) as Caller) : gate(context, request, reply)
          const proceed = (known: Caller) => {
            if (request.validationError) throw request.validationError
            return endpoint.handle(context, known, request, reply)
          }
          return caller instanceof Promise ? caller.then(proceed) : proceed(caller)
        },
      })
    },
  }
}

const mediaTypes = { form: 'application/x-www-form-urlencoded', json: 'application/json' }

/** The parser takes both; an endpoint takes one. */
function refuseOtherMediaTypes(request: FastifyRequest, takes: 'form' | 'json'): void {
  if (request.body === undefined) return
  const sent = request.headers['content-type']
  if (sent === mediaTypes[takes]) return
  const type = (sent ?? '').split(';')[0]!.trim().toLowerCase()
  if (type !== mediaTypes[takes]) throw new Problem(415, 'invalid_request', `The body must be ${mediaTypes[takes]}.`)
}
