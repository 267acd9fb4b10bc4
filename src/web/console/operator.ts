/** Who may enter: a signed-in operator, where the brokerage demands it with a second factor. For everybody else there is no console. */
import type { Context } from '../../context.ts'
import { alwaysInDoubt, type Judge } from '../../http/standing.ts'
import { NotFound } from '../../problem.ts'
import { hasSecondFactor } from '../../users/second-factor.ts'
import type { Session } from '../../users/session.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Gate, strongly } from '../gates.ts'
import { html } from '../frame/html.ts'
import type { Watcher } from '../frame/live.ts'
import { sendPage } from '../frame/page.ts'
import { type PageRoute, page } from '../route.ts'
import { type Params, paramsOf, type Visit } from '../frame/visit.ts'
import { currentSession, readSignedForm, requireSignIn, type SignedIn } from '../frame/visitor.ts'

/** Somebody who signed in and runs the gateway. */
export type Operator = SignedIn

type Show = (visit: Visit, operator: Operator) => Promise<unknown>
type Act = (visit: Visit, operator: Operator, form: SubmittedForm) => Promise<unknown>

export function operatorPage(path: string, show: Show): PageRoute {
  return page('GET', path, async (context, request, reply) => {
    const visit = { context, request, reply }
    const visitor = await requireSignIn(context, request, reply, request.url)
    return visitor && (await admit(visit, visitor, request.url)) ? show(visit, visitor) : reply
  })
}

/**
 * What changes something takes every proof that the operator has, given minutes ago. Whoever has to sign in first returns to the page
 * that holds the form.
 */
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
    const mayAct = (await admit(visit, visitor, here)) && (await ask(visit, visitor, here))
    return mayAct ? act(visit, visitor, form) : reply
  })
  return { ...route, gate: ask }
}

/** What an operator lacks: a second factor, or the proof of it in this session. */
async function findLack({ config, db }: Context, { user, proofs }: Session): Promise<'factor' | 'proof' | undefined> {
  if (!config.secondFactorForOperators) return undefined
  if (!(await hasSecondFactor(db, user.id))) return 'factor'
  return proofs.factorAt === undefined ? 'proof' : undefined
}

/** False after having answered. */
async function admit(visit: Visit, visitor: SignedIn, here: string): Promise<boolean> {
  if (visitor.session.user.role !== 'operator') throw new NotFound()
  const lack = await findLack(visit.context, visitor.session)
  if (lack === 'factor') sendSetupFirst(visit, visitor)
  if (lack === 'proof') visit.reply.redirect(`/login?return=${encodeURIComponent(here)}&confirm=1`, 303)
  return lack === undefined
}

function sendSetupFirst({ context, reply }: Visit, { session, csrf }: SignedIn) {
  return sendPage(reply, {
    title: 'Set up two-factor sign-in first',
    environment: context.environment,
    status: 403,
    account: { user: session.user, csrf, here: '/console' },
    body: html`<section class="card narrow">
<h1>Set up two-factor sign-in first</h1>
<p>The console can stop partners and lock people out. It opens to operators who have shown, with a second factor, that it is them.</p>
<p><a class="button primary" href="/account/security">Set it up now</a></p>
<p>Then <a href="/console">come back to the console</a>.</p>
</section>`,
  })
}

export function watcherOf(visit: Visit): Watcher {
  return { place: `console ${visit.context.environment}`, judge: judgeOperator(visit) }
}

/** Whoever signed out, or was disabled, sees no more. */
export function judgeOperator({ context, request }: Visit): Judge {
  return async () => {
    const session = await currentSession(context, request, false)
    if (session?.user.role !== 'operator' || (await findLack(context, session)) !== undefined) return undefined
    return { tags: [`session:${session.id}`, `user:${session.user.id}`], soundUntilMs: alwaysInDoubt }
  }
}
