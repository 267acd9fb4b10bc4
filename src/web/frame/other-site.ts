/**
 * What is on one site alone has an address on the other too: there it is not found, and the page says where
 * it is.
 */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Address } from '../../http/addresses.ts'
import { WrongAddress } from '../../problem.ts'
import type { Environment } from '../../vocabulary/environment.ts'

/** An address on the live site, seen from either. */
export function onLiveSite(context: Context, path: string): string {
  return context.environment === 'live' ? path : context.sisterUrl + path
}

/** The same in the sandbox: whoever is signed in on the live site comes in there (sign-in/switch.ts). */
export function inSandbox({ environment, sisterUrl }: Context, path: string): string {
  return environment === 'sandbox' ? path : `${sisterUrl}/login/live?return=${encodeURIComponent(path)}`
}

interface PageLocation {
  readonly path: string
  readonly sites: readonly Environment[]
}

export function isHere({ environment }: Context, { sites }: PageLocation): boolean {
  return sites.includes(environment)
}

/** For the rows that are not of this site. */
export function leadToOtherSite(context: Context, routes: readonly PageLocation[]): Address[] {
  const where =
    context.environment === 'live' ? 'This is in the sandbox alone' : 'This is on the live site alone'
  const refuse = ({ method, url }: FastifyRequest) =>
    // Its address is known once it listens.
    new WrongAddress(where, context.sisterUrl + (method === 'GET' ? url.split('?')[0]! : '/account'))
  return [...new Set(routes.map(({ path }) => path))].map((url) => ({ url, errors: 'page', refuse }))
}
