/**
 * A user is signed in, whichever way they came: the browser gets the session, loses what was for before, and
 * goes on to where it was going.
 */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Token } from '../../crypto/token.ts'
import type { KnownDevice } from '../../users/known-device.ts'
import type { User } from '../../users/user.ts'
import { clearCookie, setCookie } from '../frame/cookies.ts'
import type { Visit } from '../frame/visit.ts'
import { browserOf, currentSession } from '../frame/visitor.ts'
import { type Destination, pathAfter } from './destination.ts'
import { readDevice, rememberDevice } from './device-cookie.ts'

interface SignInResult {
  readonly user: User
  readonly session: Token
  readonly device: KnownDevice
}

/** Where a user signs in from. */
export async function originOf(context: Context, request: FastifyRequest) {
  return {
    environment: context.environment,
    browser: browserOf(request),
    previous: await currentSession(context, request),
    device: readDevice(context, request),
  }
}

export async function letIn({ context, request, reply }: Visit, who: SignInResult, destination: Destination) {
  const { user, session, device } = who
  request.who = { userId: user.id }
  setCookie(context, reply, 'session', session.text)
  clearCookie(context, reply, 'visit')
  rememberDevice(context, reply, device)
  return reply.redirect(await pathAfter(context, destination, user), 303)
}
