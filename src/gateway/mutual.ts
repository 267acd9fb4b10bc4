/** Where a site is reached by clients that show a certificate. */
import type { FastifyInstance } from 'fastify'
import { apiRoutes } from '../api/routes.ts'
import { isHealthCheck } from '../http/door.ts'
import type { MutualOptions } from '../http/mutual-tls.ts'
import type { Config, SiteConfig } from '../settings/config.ts'
import { listenBeside } from './listen.ts'

/** Undefined when it has no listener for them. */
export function mutualOptionsOf({ mtlsPort }: SiteConfig): MutualOptions | undefined {
  if (mtlsPort === undefined) return undefined
  const paths = new Set(apiRoutes.filter(({ environmentOf }) => !environmentOf).map(({ path }) => path))
  return { serves: (url) => paths.has(url) || isHealthCheck(url) }
}

/** Answers the address that they are told; undefined when there is none, or it is the site's own. */
export async function openMutual(
  { mutualServer }: FastifyInstance,
  { host }: Config,
  { environment, mtlsPort, mtlsUrl }: SiteConfig,
  baseUrl: string,
): Promise<string | undefined> {
  if (!mutualServer || mtlsPort === undefined) return mtlsUrl === '' ? undefined : mtlsUrl
  const setting = environment === 'live' ? 'MTLS_PORT' : 'SANDBOX_MTLS_PORT'
  const port = await listenBeside(mutualServer, { host, port: mtlsPort, setting, isSecure: true })
  return mtlsUrl === '' ? `https://${new URL(baseUrl).hostname}:${port}` : mtlsUrl
}
