/** Which of the brokerage's own systems may call, and for which sources each may provision. */
import type { FastifyRequest } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import { environmentOfToken } from '../../crypto/token.ts'
import { type ClientCredentials, parseBasic } from '../../oauth/client-credentials.ts'
import { Forbidden } from '../../problem.ts'
import type { Service } from '../../services/service.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { countFailure, failureKey } from './failures.ts'
import type { ApiGate } from './gate.ts'
import { actOf, branchRefusal, parseBranchBasic } from './gates.ts'

/** One of the brokerage's own systems. */
export const service: ApiGate<Act> = Object.assign(
  async (context: Context, request: FastifyRequest) => (await admit(context, request)).act,
  { environmentOf },
)

/**
 * One that provisions: each handler asks it for the source, by `requireSource`, before it does or tells
 * anything of one.
 */
export interface Provisioner {
  readonly act: Act
  readonly service: Service
}

export const provisioner: ApiGate<Provisioner> = Object.assign(admit, { environmentOf })

export function requireSource({ service: { id, mayProvision } }: Provisioner, source: string): void {
  if (mayProvision.includes(source)) return
  throw new Forbidden(
    `This service may not provision for source "${source}". An operator can allow it: countersign service update ${id} --provision ${source}`,
  )
}

function environmentOf({ headers }: FastifyRequest): Environment | undefined {
  const readings = headers.authorization === undefined ? [] : readBasic(headers.authorization)
  return readings.map(({ secret }) => environmentOfToken(secret)).find((each) => each !== undefined)
}

function readBasic(authorization: string): ClientCredentials[] {
  try {
    return parseBasic(authorization)
  } catch {
    return []
  }
}

async function admit(context: Context, request: FastifyRequest): Promise<Provisioner> {
  const { authorization } = request.headers
  const readings = authorization === undefined ? [] : parseBranchBasic(authorization)
  const found =
    context.services.recall(readings, context.environment) ??
    (await authenticateService(context, request, readings))
  if (!found) throw branchRefusal('Send the id and the secret of a service by HTTP Basic.')
  request.who = { serviceId: found.id }
  return { act: actOf(context, request, `service:${found.id}`), service: found }
}

/** Undefined for no living service, or a wrong secret, which is counted. */
export async function authenticateService(
  context: Context,
  request: FastifyRequest,
  readings: readonly ClientCredentials[],
): Promise<Service | undefined> {
  const [first] = readings
  if (!first) return undefined
  const key = failureKey(request, first.id)
  context.clientFailures.check(key)
  const found = await context.services.authenticate(readings, context.environment)
  if (!found) await countFailure(context, request, key)
  return found
}
