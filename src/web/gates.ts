/**
 * What a form asks of whoever is signed in, before anything happens: one function a gate. A row of the table names its gate, and the
 * row's maker asks it; no form looks at the age of a sign-in by itself.
 */
import type { Context } from '../context.ts'
import { hasProvenFactor } from '../users/second-factor.ts'
import { isFresh, type Session } from '../users/session.ts'
import type { SubmittedForm } from './frame/forms.ts'
import { type PageRoute, page } from './route.ts'
import type { Visit } from './frame/visit.ts'
import { readSignedForm, requireSignIn, type SignedIn } from './frame/visitor.ts'

/** False after having sent the visitor to confirm that it is them, to come back to `here`. */
export type Gate = (visit: Visit, visitor: SignedIn, here: string) => Promise<boolean>

type Proven = (context: Context, session: Session, now: Date) => boolean | Promise<boolean>

function gate(isProven: Proven): Gate {
  return async ({ context, reply }, { session }, here) => {
    if (await isProven(context, session, context.clock.now())) return true
    reply.redirect(`/login?return=${encodeURIComponent(here)}&confirm=1`, 303)
    return false
  }
}

/** Any session will do: what only looks, or only takes power away. */
export const signedIn = gate(() => true)

/** The password, minutes ago. */
export const freshlySignedIn = gate((_context, session, now) => isFresh(session, now))

/** A second factor, minutes ago, from whoever has one; for a form that asks for the password itself. */
export const withFactor = gate(({ db }, session, now) => hasProvenFactor(db, session, now))

/** The password, and a second factor from whoever has one, both minutes ago. */
export const strongly = gate(
  async ({ db }, session, now) => isFresh(session, now) && (await hasProvenFactor(db, session, now)),
)

type Show = (visit: Visit, visitor: SignedIn) => Promise<unknown>
type Act = (visit: Visit, visitor: SignedIn, form: SubmittedForm) => Promise<unknown>

export function gatedPage(path: string, ask: Gate, show: Show): PageRoute {
  const route = page('GET', path, async (context, request, reply) => {
    const visit = { context, request, reply }
    const visitor = await requireSignIn(context, request, reply, path)
    return visitor && (await ask(visit, visitor, path)) ? show(visit, visitor) : reply
  })
  return { ...route, gate: ask }
}

/** Whoever has to sign in first returns to the page that holds the form. */
export function gatedForm(path: string, ask: Gate, heldBy: string, act: Act): PageRoute {
  const route = page('POST', path, async (context, request, reply) => {
    const visit = { context, request, reply }
    const visitor = await requireSignIn(context, request, reply, heldBy)
    if (!visitor) return reply
    const form = readSignedForm(request, visitor)
    return (await ask(visit, visitor, heldBy)) ? act(visit, visitor, form) : reply
  })
  return { ...route, gate: ask }
}
