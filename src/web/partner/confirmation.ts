/** What hands out lasting power asks for a password that was entered minutes ago. */
import { isFresh } from '../../users/session.ts'
import type { Visit } from '../visit.ts'
import type { Member } from './member.ts'

export function isConfirmed({ context }: Visit, { session }: Member): boolean {
  return isFresh(session, context.clock.now())
}

export function confirmFirst({ reply }: Visit, path: string) {
  return reply.redirect(`/login?return=${encodeURIComponent(path)}&confirm=1`, 303)
}
