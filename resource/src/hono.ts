/** A middleware of Hono: `app.get('/orders', requireAccess(bearers, { scope: 'trade' }), …)`. */
import { isRefusal, openRoute, type RouteRequirements } from './route.ts'
import { showAccess } from './shown-access.ts'
import type { Verifier } from './verifier.ts'

export { accessOf } from './shown-access.ts'

/** What of Hono's context is used. */
interface HonoContext {
  readonly req: {
    readonly method: string
    readonly url: string
    header(): Record<string, string>
    param(name: string): string | undefined
  }
}

type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

export function requireAccess(
  verifier: Verifier,
  requirements: RouteRequirements<HonoContext>,
): HonoMiddleware {
  const judge = openRoute(verifier, requirements)
  return async (context, next) => {
    const { method, url } = context.req
    const headers = context.req.header()
    const { host, pathname, search } = new URL(url)
    const presented = { method, headers, host: headers.host ?? host, target: pathname + search }
    const judgement = await judge(context, presented)
    if (isRefusal(judgement)) return Response.json(judgement.body, judgement)
    showAccess(context, judgement)
    await next()
    return undefined
  }
}
