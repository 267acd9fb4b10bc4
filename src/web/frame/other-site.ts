/** What is on the live site alone has an address in the sandbox too: there it is not found, and the page says where it is. */
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import type { Environment } from '../../environment.ts'
import { routedMethods } from '../../http/methods.ts'
import { Elsewhere } from '../../problem.ts'

/** An address on the live site, seen from either. */
export function onLiveSite({ environment, sisterUrl }: Context, path: string): string {
  return environment === 'live' ? path : sisterUrl + path
}

interface Placed {
  readonly path: string
  readonly sites: readonly Environment[]
}

export function isHere({ environment }: Context, { sites }: Placed): boolean {
  return sites.includes(environment)
}

/** For the rows that are not of this site. */
export function leadToLiveSite(app: FastifyInstance, context: Context, routes: readonly Placed[]): void {
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
        done(new Elsewhere('This is on the live site alone', onLiveSite(context, path)))
      },
      handler: () => {},
    })
  }
}
