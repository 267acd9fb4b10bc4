/** Signing out: here, at the provider that vouched, and when that provider says so. */

import { ProviderFault } from '../../identity/claims.ts'
import { findLogout, LogoutRefusal, takeLogoutToken } from '../../identity/logout.ts'
import { findProvider } from '../../identity/provider.ts'
import { ProviderAway } from '../../identity/upstream.ts'
import { NotFound } from '../../problem.ts'
import { closeSession } from '../../users/session.ts'
import { clearCookie } from '../frame/cookies.ts'
import type { Submission } from '../frame/form.ts'
import { checkFormToken, refuseForeignOrigin } from '../frame/form-token.ts'
import { html } from '../frame/html.ts'
import { onLiveSite } from '../frame/other-site.ts'
import { sendPage } from '../frame/page.ts'
import { paramsOf, type Visit } from '../frame/visit.ts'
import { actOf, currentSession } from '../frame/visitor.ts'
import type * as forms from './forms.ts'

export async function logout(visit: Visit) {
  const { context, request, reply } = visit
  refuseForeignOrigin(request)
  const session = await currentSession(context, request)
  if (session) {
    checkFormToken(request, session.token.text)
    await context.db.transaction((sql) => closeSession(sql, session, actOf(context, request, session)))
  }
  clearCookie(context, reply, 'session')
  const there =
    session?.upstream &&
    !session.parentId &&
    (await findLogout(context, session.upstream, `${context.baseUrl}/login/signed-out`))
  if (session?.parentId) return reply.redirect('/login/signed-out', 303)
  if (!there) return reply.redirect('/login', 303)
  return there.address
    ? leadOut(visit, there.provider.label, there.address)
    : reply.redirect('/login/signed-out', 303)
}

/** By a page: no form of ours leads to another site. */
function leadOut({ context, reply }: Visit, label: string, address: URL) {
  reply.header('refresh', `0; url=${address.href}`)
  return sendPage(reply, {
    title: 'Signed out',
    environment: context.environment,
    body: html`<section class="card narrow">
<h1>You are signed out here</h1>
<p>Next you sign out at ${label}, so that nobody else signs in with what it remembers of you.</p>
<p><a class="button primary" href="${address.href}">Sign out at ${label}</a></p>
</section>`,
  })
}

/** Where a provider sends people back to. The login page would sign them in again. */
export async function showSignedOut({ context, request, reply }: Visit) {
  if (await currentSession(context, request)) return reply.redirect('/', 303)
  return sendPage(reply, {
    title: 'Signed out',
    environment: context.environment,
    body: html`<section class="card narrow">
<h1>You are signed out</h1>
${
  context.environment === 'sandbox' &&
  html`<p>Of the sandbox. On the <a href="${onLiveSite(context, '/')}">live site</a> you stay signed in
  until you sign out there.</p>`
}
<p><a class="button primary" href="/login">Sign in again</a></p>
</section>`,
  })
}

/** Back-Channel Logout 1.0, 2.8: the sender is a machine, and proves itself by the token. */
export async function takeLogout(
  { context, request, reply }: Visit,
  { values }: Submission<typeof forms.takeLogout>,
) {
  context.logoutFailures.checkFrom(request.ip)
  const provider = await findProvider(context.db, paramsOf(request).provider ?? '')
  if (!provider) {
    await context.logoutFailures.countFrom(request.ip)
    throw new NotFound()
  }
  reply.header('cache-control', 'no-store')
  try {
    await takeLogoutToken(context, provider, values.logout_token, actOf(context, request))
    return reply.status(200).send()
  } catch (error) {
    if (error instanceof ProviderAway || error instanceof ProviderFault)
      return reply.status(503).header('retry-after', '30').send()
    if (!(error instanceof LogoutRefusal)) throw error
    await context.logoutFailures.countFrom(request.ip)
    return reply.status(400).send({ error: 'invalid_request', error_description: error.message })
  }
}
