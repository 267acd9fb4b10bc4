/** A hook of Fastify: `app.get('/orders', { onRequest: requireAccess(bearers, { scope: 'trade' }) }, …)`. */
import type { Refusal } from './refusal.ts'
import { hostOf, isRefusal, openRoute, type RouteRequirements, whenJudged } from './route.ts'
import { showAccess } from './shown-access.ts'
import type { PresentedRequest, Verifier } from './verifier.ts'

export { accessOf } from './shown-access.ts'

/** What of Fastify's request is used. */
interface FastifyRequest {
  readonly method: string
  readonly headers: PresentedRequest['headers']
  readonly originalUrl: string
  // biome-ignore lint/suspicious/noExplicitAny: Fastify has it as unknown unless a route says what it is.
  readonly params: any
  // biome-ignore lint/suspicious/noExplicitAny: As above.
  readonly query: any
}

interface FastifyReply {
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(body: unknown): unknown
}

type FastifyHook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

export function requireAccess(
  verifier: Verifier,
  requirements: RouteRequirements<FastifyRequest>,
): FastifyHook {
  const judge = openRoute(verifier, requirements)
  return (request, reply, done) => {
    const { method, headers, originalUrl } = request
    whenJudged(
      () => judge(request, { method, headers, host: hostOf(headers), target: originalUrl }),
      (judgement) => {
        if (isRefusal(judgement)) return send(reply, judgement)
        showAccess(request, judgement)
        done()
      },
      done,
    )
  }
}

function send(reply: FastifyReply, { status, headers, body }: Refusal): void {
  reply.code(status)
  reply.headers({ ...headers })
  reply.send(body)
}
