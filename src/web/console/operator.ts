/** Who may enter: a signed-in operator. For everybody else there is no console. */
import { alwaysInDoubt, type Judge } from '../../http/standing.ts'
import { NotFound } from '../../problem.ts'
import type { SubmittedForm } from '../forms.ts'
import type { Watcher } from '../live.ts'
import { type PageRoute, page } from '../page-route.ts'
import { type Params, paramsOf, type Visit } from '../visit.ts'
import { currentSession, readSignedForm, requireSignIn, type SignedIn } from '../visitor.ts'

/** Somebody who signed in and runs the gateway. */
export type Operator = SignedIn

type Show = (visit: Visit, operator: Operator) => Promise<unknown>
type Act = (visit: Visit, operator: Operator, form: SubmittedForm) => Promise<unknown>

export function operatorPage(path: string, show: Show): PageRoute {
  return page('GET', path, async (context, request, reply) => {
    const operator = await requireSignIn(context, request, reply, request.url)
    if (!operator) return reply
    return show({ context, request, reply }, requireOperator(operator))
  })
}

/** Whoever has to sign in first returns to the page that holds the form. */
export function operatorForm(path: string, heldBy: (params: Params) => string, act: Act): PageRoute {
  return page('POST', path, async (context, request, reply) => {
    const operator = await requireSignIn(context, request, reply, heldBy(paramsOf(request)))
    if (!operator) return reply
    const form = readSignedForm(request, operator)
    return act({ context, request, reply }, requireOperator(operator), form)
  })
}

function requireOperator(visitor: SignedIn): Operator {
  if (visitor.session.user.role !== 'operator') throw new NotFound()
  return visitor
}

export function watcherOf(visit: Visit): Watcher {
  return { place: `console ${visit.context.environment}`, judge: judgeOperator(visit) }
}

/** Whoever signed out, or was disabled, sees no more. */
export function judgeOperator({ context, request }: Visit): Judge {
  return async () => {
    const session = await currentSession(context, request, false)
    if (session?.user.role !== 'operator') return undefined
    return { tags: [`session:${session.id}`, `user:${session.user.id}`], soundUntilMs: alwaysInDoubt }
  }
}
