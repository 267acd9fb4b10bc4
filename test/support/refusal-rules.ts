/** Which rule refused a request of this process: those whom it refuses are told less. */
import diagnostics from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'

const requests = new Map<string, FastifyRequest>()

diagnostics.subscribe('tracing:fastify.request.handler:start', (message) => {
  const { request } = message as { request: FastifyRequest }
  requests.set(request.id, request)
})

/** By the id that its answer bears; undefined where its code says it all. */
export function ruleOf(requestId: string): string | undefined {
  const request = requests.get(requestId)
  if (!request) throw new Error(`There was no request ${requestId}.`)
  const { refusal } = request as { refusal?: { rule?: string } }
  return refusal?.rule
}
