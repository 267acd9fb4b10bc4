/** What is on one site alone has an address on the other too: there it is not found, and the page says where it is. */
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import type { Environment } from '../../environment.ts'
import { routedMethods } from '../../http/methods.ts'
import { Elsewhere } from '../../problem.ts'

/** An address on the live site, seen from either. */
export function onLiveSite(context: Context, path: string): string {
  return onSite(context, 'live', path)
}

export function inSandbox(context: Context, path: string): string {
  return onSite(context, 'sandbox', path)
}

function onSite({ environment, sisterUrl }: Context, site: Environment, path: string): string {
  return environment === site ? path : sisterUrl + path
}

interface Placed {
  readonly path: string
  readonly sites: readonly Environment[]
}

export function isHere({ environment }: Context, { sites }: Placed): boolean {
  return sites.includes(environment)
}

/** For the rows that are not of this site. */
export function leadToOtherSite(app: FastifyInstance, context: Context, routes: readonly Placed[]): void {
  const where = context.environment === 'live' ? 'This is in the sandbox alone' : 'This is on the live site alone'
  for (const url of new Set(routes.map(({ path }) => path))) {
    app.route({
      method: [...routedMethods],
      url,
      exposeHeadRoute: false,
      schema: { hide: true } as object,
      config: { errors: 'page' },
      // Before the body is read: what it holds does not matter.
      onRequest: (request, _reply, done) => {
        const path = request.method === 'GET' ? request.url.split('?')[0]! : '/account'
        done(new Elsewhere(where, context.sisterUrl + path))
      },
      handler: () => {},
    })
  }
}
