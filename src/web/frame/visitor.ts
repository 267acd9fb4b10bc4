/** The visitor in front of the page. */
import type { FastifyRequest } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import { hour } from '../../clock.ts'
import type { Context } from '../../context.ts'
import type { Problem } from '../../problem.ts'
import { cut } from '../../text/cut.ts'
import type { Holder } from '../../users/second-factor.ts'
import type { Browser, Session } from '../../users/session.ts'
import { findSession } from '../../users/session.ts'
import { ensureVisit, readCookie } from './cookies.ts'
import { issueFormToken, markOwner } from './form-token.ts'
import { PageForms } from './page-forms.ts'
import { paramsOf, type Visit } from './visit.ts'

export function browserOf(request: FastifyRequest): Browser {
  return { address: request.ip, userAgent: request.headers['user-agent'] ?? '' }
}

export async function currentSession(
  context: Context,
  request: FastifyRequest,
  isPerson = request.headers.accept !== 'text/event-stream',
): Promise<Session | undefined> {
  const presented = readCookie(context, request, 'session')
  const { db, environment, clock, config } = context
  const staffMs = config.signIn.staffSessionHours * hour
  const session = await findSession(db, presented, environment, clock.now(), { staffMs, isPerson })
  if (session) request.who = { userId: session.user.id }
  return session
}

/** What is done through a page, now. Without a session it has no user yet. */
export function actOf({ clock, environment }: Context, request: FastifyRequest, session?: Session): Act {
  const by = {
    name: session ? `user:${session.user.id}` : 'anonymous',
    environment,
    address: request.ip,
    requestId: request.id,
    userAgent: cut(browserOf(request).userAgent, 300),
    providerId: session?.upstream?.providerId,
  }
  return { by, at: clock.now() }
}

export interface UserSession {
  readonly session: Session
  readonly act: Act
  /** Of the page that answers this visitor. */
  readonly forms: PageForms
}

export function signedInAs(context: Context, request: FastifyRequest, session: Session): UserSession {
  const csrf = issueFormToken(session.token.text, markOwner(context, session.user.id))
  const forms = new PageForms(csrf, paramsOf(request))
  return { session, act: actOf(context, request, session), forms }
}

/** The forms of a page for a visitor who is not known yet. */
export function formsOfGuest({ context, request, reply, returned }: Visit): PageForms {
  return new PageForms(issueFormToken(ensureVisit(context, request, reply)), paramsOf(request), returned)
}

/** The page that a guest's form is on shows it again. */
export function returning(visit: Visit, problem: Problem): Visit {
  return { ...visit, returned: { ...visit.sent!, again: [], problem } }
}

export function holderOf(context: Context, request: FastifyRequest, { session, act }: UserSession): Holder {
  return { session, environment: context.environment, browser: browserOf(request), act }
}
