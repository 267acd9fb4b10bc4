import { homeOf } from '../frame/home.ts'
import type { Visit } from '../frame/visit.ts'
import { currentSession } from '../frame/visitor.ts'

export async function showHome({ context, request, reply }: Visit) {
  const session = await currentSession(context, request)
  return reply.redirect(session ? await homeOf(context, session.user) : '/login', 303)
}
