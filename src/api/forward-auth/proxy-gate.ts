/** Who asks at the doors: a proxy, by the credential of a service in a header of its own. */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { environmentOfToken } from '../../crypto/token.ts'
import { type HeaderLines, Misconfigured, readOnce } from '../../forward-auth/head.ts'
import type { ClientCredentials } from '../../oauth/client-credentials.ts'
import type { Service } from '../../services/service.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { authenticateService } from '../gates/service-gates.ts'

/** `Authorization` is the client's. */
export const serviceHeader = 'x-countersign-service'

export function readService(head: HeaderLines): ClientCredentials {
  const text = readOnce(head, serviceHeader, 'service')
  const colon = text.indexOf(':')
  if (colon >= 0) return { id: text.slice(0, colon), secret: text.slice(colon + 1) }
  throw new Misconfigured(
    'service_malformed',
    `${serviceHeader} must hold the id of a service, a colon, and its secret.`,
  )
}

/** As far as it can be read. */
export function environmentOf({ headers }: FastifyRequest): Environment | undefined {
  const [, secret = ''] = String(headers[serviceHeader] ?? '').split(':', 2)
  return environmentOfToken(secret)
}

/** Without a promise where it is remembered. */
export function admitService(
  context: Context,
  request: FastifyRequest,
  credentials: ClientCredentials,
): Service | Promise<Service> {
  return (
    context.services.recall([credentials], context.environment) ?? authenticate(context, request, credentials)
  )
}

async function authenticate(
  context: Context,
  request: FastifyRequest,
  credentials: ClientCredentials,
): Promise<Service> {
  const found = await authenticateService(context, request, [credentials])
  if (found) return found
  throw new Misconfigured('service_unknown', `${serviceHeader} holds no living service, or a wrong secret.`)
}
