/** A row of the pages' table: method, path and what happens. */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { Context } from '../context.ts'
import { type Environment, environments } from '../environment.ts'
import type { Gate } from './gates.ts'
import { pageHeaders } from './page.ts'

export type PageHandler = (context: Context, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export interface PageRoute {
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: 'page'
  /** A form that makes something new: however often it is sent, there is one of it (web/submission.ts, or a constraint of what it makes). */
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

export function page(
  method: HTTPMethods,
  path: string,
  handle: PageHandler,
  schema: FastifySchema = { hide: true } as object,
): PageRoute {
  return {
    method,
    path,
    errors: 'page',
    sites: ['live'],
    register(app, context) {
      app.route({
        method,
        url: path,
        schema,
        config: { errors: 'page' },
        // Forms answer with a page or a redirect of their own; the schema's part is the documentation.
        attachValidation: true,
        handler: (request, reply) => handle(context, request, reply.headers(pageHeaders())),
      })
    },
  }
}

/** What a page or a form of the sandbox reads and changes is of the sandbox: its handler looks at `context.environment`. */
export function onBothSites(routes: readonly PageRoute[]): readonly PageRoute[] {
  return routes.map((route) => ({ ...route, sites: environments }))
}
