/** A row of the pages' table: method, path and what happens. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { Context } from '../context.ts'
import type { OperationSchema } from '../described-route.ts'
import { pageHeaders } from './page.ts'

export type PageHandler = (context: Context, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export interface PageRoute {
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: 'page'
  readonly takes: 'form'
  /** Of a page that belongs to the interface, for its readers: faults are answered with a page or a redirect of its own. */
  readonly schema: OperationSchema | undefined
  register(app: FastifyInstance, context: Context): void
}

export function page(method: HTTPMethods, path: string, handle: PageHandler, schema?: OperationSchema): PageRoute {
  return {
    method,
    path,
    errors: 'page',
    takes: 'form',
    schema,
    register(app, context) {
      app.route({
        method,
        url: path,
        config: { errors: 'page' },
        handler: (request, reply) => handle(context, request, reply.headers(pageHeaders())),
      })
    },
  }
}
