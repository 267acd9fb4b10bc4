/** Who may call: the rows of the API's table name one of these. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../audit/audit.ts'
import type { Context } from '../context.ts'
import type { Form } from '../http/form.ts'
import { printUsage } from '../http/rate-limit.ts'
import { type Bearer, invalidToken, parseBearer, requireScope } from '../oauth/bearer.ts'
import { authenticateClient } from '../oauth/client-authentication.ts'
import {
  type Credentials,
  parseBasic,
  parseCredentials,
  refuseCredentialsInQuery,
} from '../oauth/client-credentials.ts'
import { isInForce } from '../oauth/client-directory.ts'
import type { Asker } from '../oauth/introspection.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import type { Registration } from '../partners/client.ts'
import { getBranchOfMember } from '../partners/partner.ts'
import { Forbidden, Problem } from '../problem.ts'
import type { Scope } from '../scope.ts'
import type { Branch } from '../webhooks/webhook.ts'
import type { Gate } from './route.ts'

export const anyone: Gate<undefined> = () => undefined

export interface ClientCaller {
  readonly client: Registration
  readonly by: Actor
}

/** Spec 5.4: a client, by HTTP Basic or by form fields. */
export const client: Gate<ClientCaller> = async (context, request, reply) => {
  const found = await findClient(context, request, reply, readCredentials(request))
  if (!found) throw refusal()
  return found
}

/** RFC 7662: a client, or one of the brokerage's own services. */
export const clientOrService: Gate<Asker> = async (context, request, reply) => {
  const readings = readCredentials(request)
  const service = context.services.recall(readings, context.environment)
  if (service) return { kind: 'service' }
  const found = await findClient(context, request, reply, readings)
  if (found) return { kind: 'client', clientId: found.client.id }
  if (await context.services.authenticate(readings, context.environment)) return { kind: 'service' }
  throw refusal()
}

/** Spec 5.3: a bearer token with the scope. Counted against the token's rate limit. */
export function bearer(scope: Scope): Gate<Bearer> {
  return (context, request, reply) => {
    const token = parseBearer(request.headers.authorization, context.environment, context.sisterUrl)
    const found = context.bearers.find(token)
    const admit = (known: Bearer | undefined) => {
      if (!known) throw invalidToken()
      countUse(context, known, reply)
      requireScope(known, scope)
      return known
    }
    return found instanceof Promise ? found.then(admit) : admit(found)
  }
}

export interface BranchCaller extends Branch {
  /** Absent when a member calls with a personal token. */
  readonly clientId: string | undefined
  readonly by: Actor
}

/**
 * Spec 5.5: a branch, by the credentials of one of its clients, or by the personal token of one of its members (as Bearer, or as
 * the Basic user name with an empty password).
 */
export const branch: Gate<BranchCaller> = async (context, request, reply) => {
  const { authorization } = request.headers
  if (authorization === undefined) throw branchRefusal()
  const readings = /^basic\b/i.test(authorization) ? parseBranchBasic(authorization) : undefined
  const personal = readings?.find(({ secret }) => secret === '')
  if (readings && !personal) return clientBranch(context, request, reply, readings)
  const header = personal ? `Bearer ${personal.id}` : authorization
  const token = parseBearer(header, context.environment, context.sisterUrl)
  const known = token.kind === 'personal' ? await context.bearers.find(token) : undefined
  if (!known) throw personal ? branchRefusal() : invalidToken()
  countUse(context, known, reply)
  const { environment } = context
  const by = { name: `user:${known.userId}`, environment, address: request.ip, requestId: request.id }
  return { branchId: await getBranchOfMember(context.db, known.userId), environment, clientId: undefined, by }
}

function parseBranchBasic(authorization: string): Credentials[] {
  try {
    return parseBasic(authorization)
  } catch {
    throw branchRefusal()
  }
}

async function clientBranch(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  readings: Credentials[],
): Promise<BranchCaller> {
  const found = await findClient(context, request, reply, readings)
  if (!found) throw branchRefusal()
  if (!isInForce(found.client)) throw new Forbidden('This application is not approved at present.')
  return { branchId: found.client.branch_id, environment: context.environment, clientId: found.client.id, by: found.by }
}

/** One of the brokerage's own systems. */
export const service: Gate<Actor> = async (context, request) => {
  const { authorization } = request.headers
  const found =
    authorization === undefined
      ? undefined
      : await context.services.authenticate(parseBranchBasic(authorization), context.environment)
  if (!found) throw branchRefusal('Send the id and the secret of a service by HTTP Basic.')
  return { name: `service:${found.id}`, environment: context.environment, address: request.ip, requestId: request.id }
}

function branchRefusal(
  description = 'Send client_id and client_secret by HTTP Basic, or a personal API token of a member.',
): Problem {
  const headers = { 'www-authenticate': 'Basic realm="countersign", charset="UTF-8"' }
  return new Problem(401, 'unauthorized', `The credentials are missing or wrong. ${description}`, { headers })
}

function countUse(context: Context, known: Bearer, reply: FastifyReply): void {
  const usage = context.tokenRate.count(`${known.kind}:${known.tokenId}`)
  if (usage) reply.headers(printUsage(usage))
  context.lastUse.ofBearer(known, context.clock.now())
}

function readCredentials(request: FastifyRequest): Credentials[] {
  refuseCredentialsInQuery(request.query as Form)
  const readings = parseCredentials(request.headers.authorization, (request.body ?? {}) as Form)
  if (!readings) throw refusal()
  return readings
}

async function findClient(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  readings: Credentials[],
): Promise<ClientCaller | undefined> {
  const failureKey = `${request.ip} ${readings[0]!.id.slice(0, 64)}`
  context.clientFailures.check(failureKey)
  const now = context.clock.now()
  const found = await authenticateClient(context.clients, readings, context.environment, now)
  if (!found) {
    context.clientFailures.count(failureKey)
    context.addressFailures.count(request.ip)
    return undefined
  }
  context.lastUse.ofSecret(found.secretId, now)
  if (found.secretEndsAt) {
    reply.header('deprecation', 'true')
    reply.header('sunset', found.secretEndsAt.toUTCString())
  }
  const { environment } = context
  return {
    client: found.client,
    by: { name: `client:${found.client.id}`, environment, address: request.ip, requestId: request.id },
  }
}

function refusal(): OAuthError {
  return new OAuthError(
    'invalid_client',
    'The client credentials are missing or wrong. Send client_id and client_secret by HTTP Basic.',
  )
}
