/** A middleware of Express: `app.get('/orders', requireAccess(bearers, { scope: 'trade' }), …)`. */
import type { Refusal } from './refusal.ts'
import { hostOf, isRefusal, openRoute, type RouteRequirements, whenJudged } from './route.ts'
import { showAccess } from './shown-access.ts'
import type { PresentedRequest, Verifier } from './verifier.ts'

export { accessOf } from './shown-access.ts'

/** What of Express's request is used. */
interface ExpressRequest {
  readonly method: string
  readonly headers: PresentedRequest['headers']
  readonly originalUrl: string
  // biome-ignore lint/suspicious/noExplicitAny: Each route has its own.
  readonly params: any
  // biome-ignore lint/suspicious/noExplicitAny: As above.
  readonly query: any
}

interface ExpressResponse {
  status(code: number): unknown
  set(headers: Record<string, string>): unknown
  json(body: unknown): unknown
}

type ExpressMiddleware = (
  request: ExpressRequest,
  response: ExpressResponse,
  next: (error?: unknown) => void,
) => void

export function requireAccess(
  verifier: Verifier,
  requirements: RouteRequirements<ExpressRequest>,
): ExpressMiddleware {
  const judge = openRoute(verifier, requirements)
  return (request, response, next) => {
    const { method, headers, originalUrl } = request
    whenJudged(
      () => judge(request, { method, headers, host: hostOf(headers), target: originalUrl }),
      (judgement) => {
        if (isRefusal(judgement)) return send(response, judgement)
        showAccess(request, judgement)
        next()
      },
      next,
    )
  }
}

function send(response: ExpressResponse, { status, headers, body }: Refusal): void {
  response.status(status)
  response.set({ ...headers })
  response.json(body)
}
