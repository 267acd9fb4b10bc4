/** A row of the pages' table: method, path and what happens. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { Context } from '../context.ts'
import type { OperationSchema } from '../described-route.ts'
import { type Environment, environments } from '../environment.ts'
import type { Gate } from './gates.ts'
import { asksForStream } from './frame/live.ts'
import { pageHeaders } from './frame/page.ts'

export type PageHandler = (context: Context, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export interface PageRoute {
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: 'page'
  readonly takes: 'form'
  /** Of a page that belongs to the interface, for its readers: faults are answered with a page or a redirect of its own. */
  readonly schema: OperationSchema | undefined
  /** A form that makes something new: however often it is sent, there is one of it (frame/submission.ts, or a constraint of what it makes). */
  readonly makes?: true
  /** Where it exists. A row is of the live site alone unless it says otherwise. */
  readonly sites: readonly Environment[]
  /** What it asks of whoever is signed in; undefined where the handler knows. */
  readonly gate?: Gate
  register(app: FastifyInstance, context: Context): void
}

export function makes(form: PageRoute): PageRoute {
  return { ...form, makes: true }
}

/** A page that changes by itself asks again and again: on connections of its own. */
function contextFor(context: Context, request: FastifyRequest): Context {
  return asksForStream(request) ? { ...context, db: context.streamDb } : context
}

export function page(method: HTTPMethods, path: string, handle: PageHandler, schema?: OperationSchema): PageRoute {
  return {
    method,
    path,
    errors: 'page',
    takes: 'form',
    schema,
    sites: ['live'],
    register(app, context) {
      app.route({
        method,
        url: path,
        config: { errors: 'page' },
        handler: (request, reply) => handle(contextFor(context, request), request, reply.headers(pageHeaders())),
      })
    },
  }
}

/** What a page or a form of the sandbox reads and changes is of the sandbox: its handler looks at `context.environment`. */
export function onBothSites(routes: readonly PageRoute[]): readonly PageRoute[] {
  return routes.map((route) => ({ ...route, sites: environments }))
}
