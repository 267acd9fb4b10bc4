/** Who may enter: a signed-in operator. For everybody else there is no console. */
import { NotFound } from '../../problem.ts'
import type { SubmittedForm } from '../forms.ts'
import { type Gate, strongly } from '../gates.ts'
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

/** What changes something takes every proof that the operator has, given minutes ago. Whoever has to sign in first returns to the page that holds the form. */
export function operatorForm(
  path: string,
  heldBy: (params: Params) => string,
  act: Act,
  ask: Gate = strongly,
): PageRoute {
  const route = page('POST', path, async (context, request, reply) => {
    const visit = { context, request, reply }
    const here = heldBy(paramsOf(request))
    const visitor = await requireSignIn(context, request, reply, here)
    if (!visitor) return reply
    const form = readSignedForm(request, visitor)
    const operator = requireOperator(visitor)
    return (await ask(visit, operator, here)) ? act(visit, operator, form) : reply
  })
  return { ...route, gate: ask }
}

function requireOperator(visitor: SignedIn): Operator {
  if (visitor.session.user.role !== 'operator') throw new NotFound()
  return visitor
}

/** Whoever signed out, or was disabled, sees no more. */
export function watcherOf({ context, request }: Visit): Watcher {
  return {
    place: `console ${context.environment}`,
    maySee: async () => (await currentSession(context, request))?.user.role === 'operator',
  }
}
