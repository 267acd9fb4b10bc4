/**
 * RFC 9728: what an address asks of a bearer token. It is said in every challenge, and in a document about
 * that very address.
 */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { schemeOf } from '../../oauth/bearer.ts'
import { BearerError } from '../../oauth/oauth-error.ts'
import type { Problem } from '../../problem.ts'
import type { ApiGate, Protection } from './gate.ts'

export const resourceMetadataPath = '/.well-known/oauth-protected-resource'

/** The gate with its demand: what it refuses of a token leaves as a challenge that states it. */
export function protect<Caller>(protection: Protection, gate: ApiGate<Caller>): ApiGate<Caller> {
  const protectedGate: ApiGate<Caller> = (context, request, reply) => {
    const refuse = (error: unknown): never => {
      throw error instanceof BearerError ? challenge(error, protection, context, request) : error
    }
    try {
      const caller = gate(context, request, reply)
      return caller instanceof Promise ? caller.catch(refuse) : caller
    } catch (error) {
      return refuse(error)
    }
  }
  return Object.assign(protectedGate, { protection })
}

function challenge(
  error: BearerError,
  { scope }: Protection,
  { baseUrl }: Context,
  request: FastifyRequest,
): Problem {
  return error.challenge({
    scheme: schemeOf(request.headers.authorization),
    scopes: [scope],
    metadataUrl: `${baseUrl}${resourceMetadataPath}${pathOf(request)}`,
  })
}

/**
 * As it was asked for, without its query. What Node lets through and a quoted string or a URL does not hold
 * is escaped.
 */
export function pathOf({ raw }: FastifyRequest): string {
  const [path = ''] = (raw.url ?? '').split('?', 1)
  return path.replace(/[^\w\-.~/%!$&'()*+,;=:@]/g, encodeURIComponent)
}
