/** The visitor in front of the page. */
import type { FastifyRequest } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import { hour } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { cut } from '../../text/cut.ts'
import type { Holder } from '../../users/second-factor.ts'
import type { Browser, Session } from '../../users/session.ts'
import { findSession } from '../../users/session.ts'
import { readCookie } from './cookies.ts'
import { issueFormToken, markOwner } from './forms.ts'

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
  readonly csrf: string
}

export function signedInAs(context: Context, request: FastifyRequest, session: Session): UserSession {
  const csrf = issueFormToken(session.token.text, markOwner(context, session.user.id))
  return { session, act: actOf(context, request, session), csrf }
}

export function holderOf(context: Context, request: FastifyRequest, { session, act }: UserSession): Holder {
  return { session, environment: context.environment, browser: browserOf(request), act }
}
