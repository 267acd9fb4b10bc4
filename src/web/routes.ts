/** The pages for people, on one screen. */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { Context } from '../context.ts'
import { createToken, revokeApplication, revokeToken, showApiSettings, showApplications } from './account.ts'
import { authorize, authorizeSchema } from './authorize.ts'
import { showConsent, submitConsent } from './consent.ts'
import { cancelLogin, logout, showLogin, submitLogin } from './login.ts'
import { pageHeaders } from './page.ts'

type Handler = (context: Context, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export interface PageRoute {
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: 'page'
  register(app: FastifyInstance, context: Context): void
}

export const pageRoutes: readonly PageRoute[] = [
  page('GET', '/v1/oauth/authorize', authorize, authorizeSchema),
  page('GET', '/login', showLogin),
  page('POST', '/login', submitLogin),
  page('POST', '/login/cancel', cancelLogin),
  page('POST', '/logout', logout),
  page('GET', '/consent', showConsent),
  page('POST', '/consent', submitConsent),
  page('GET', '/', (_context, _request, reply) => Promise.resolve(reply.redirect('/account', 303))),
  page('GET', '/account', showApplications),
  page('POST', '/account/revoke', revokeApplication),
  page('GET', '/account/api', showApiSettings),
  page('POST', '/account/api/tokens', createToken),
  page('POST', '/account/api/revoke', revokeToken),
]

function page(
  method: HTTPMethods,
  path: string,
  handle: Handler,
  schema: FastifySchema = { hide: true } as object,
): PageRoute {
  return {
    method,
    path,
    errors: 'page',
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
