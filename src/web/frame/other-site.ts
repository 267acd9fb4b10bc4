/** What is on the live site alone has an address in the sandbox too: there it is not found, and the page says where it is. */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Environment } from '../../environment.ts'
import type { Address } from '../../http/addresses.ts'
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
export function leadToLiveSite(context: Context, routes: readonly Placed[]): Address[] {
  const refuse = ({ method, url }: FastifyRequest) =>
    new Elsewhere(
      'This is on the live site alone',
      onLiveSite(context, method === 'GET' ? url.split('?')[0]! : '/account'),
    )
  return [...new Set(routes.map(({ path }) => path))].map((url) => ({ url, errors: 'page', refuse }))
}
