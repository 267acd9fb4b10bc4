/**
 * Whoever is signed in on the live site goes on in the sandbox, and not the other way. By three addresses: the
 * sandbox gives the browser a secret, the live site a code for it, and the sandbox a session for both.
 */
import { randomLetters } from '../../crypto/random.ts'
import { parseToken } from '../../crypto/token.ts'
import { makeSwitchCode, markBrowser, switchToSandbox } from '../../users/site-switch.ts'
import { clearCookie, ensureSwitching, readSwitching, setCookie } from '../frame/cookies.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, browserOf, currentSession } from '../frame/visitor.ts'
import { type Destination, parseDestination, pathAfter, printOnward } from './destination.ts'

/** In the sandbox. A test holder's session does not keep its member out. */
export async function setOutToLive(visit: Visit) {
  const { context, request, reply, query } = visit
  const destination = await parseDestination(context, query)
  const session = await currentSession(context, request)
  if (session && session.user.role !== 'test')
    return reply.redirect(await pathAfter(context, destination, session.user), 303)
  const browser = markBrowser(ensureSwitching(context, request, reply)).toString('base64url')
  const words = new URLSearchParams({ browser, ...destination.onward })
  return reply.redirect(`${context.sisterUrl}/login/sandbox?${words}`, 303)
}

/** On the live site. Where they go then is the sandbox's to judge. */
export async function leadToSandbox(visit: Visit) {
  const { context, request, reply, query } = visit
  const { browser } = query
  const isMark = typeof browser === 'string' && /^[A-Za-z0-9_-]{43}$/.test(browser)
  const onward = new URLSearchParams()
  for (const name of ['return', 'request'] as const) {
    const value = query[name]
    if (typeof value === 'string' && value !== '') onward.set(name, value)
  }
  const session = isMark ? await currentSession(context, request) : undefined
  if (!session) return reply.redirect(`${context.sisterUrl}/login?${onward}`, 303)
  const mark = Buffer.from(String(browser), 'base64url')
  const code = await makeSwitchCode(context.db, session, mark, context.clock.now())
  onward.set('code', code.text)
  return reply.redirect(`${context.sisterUrl}/login/live/back?${onward}`, 303)
}

/** In the sandbox again. Whatever is wrong with the code, there is the sign-in. */
export async function comeFromLive(visit: Visit) {
  const { context, request, reply, query } = visit
  const destination = await parseDestination(context, query)
  clearCookie(context, reply, 'switch')
  const code = parseToken(typeof query.code === 'string' ? query.code : '')
  const from = {
    browserMark: markBrowser(readSwitching(context, request) ?? randomLetters(43)),
    browser: browserOf(request),
    previous: await currentSession(context, request),
  }
  const switched =
    code?.kind === 'switch'
      ? await switchToSandbox(context.db, code, from, actOf(context, request))
      : undefined
  if (!switched) return leadToLogin(visit, destination)
  request.who = { userId: switched.user.id }
  setCookie(context, reply, 'session', switched.session.text)
  clearCookie(context, reply, 'visit')
  return reply.redirect(await pathAfter(context, destination, switched.user), 303)
}

function leadToLogin({ reply }: Visit, destination: Destination) {
  return reply.redirect(`/login?${printOnward(destination)}`, 303)
}
