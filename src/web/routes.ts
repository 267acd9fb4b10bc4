/** The pages for people, on one screen. */
import { createToken, revokeApplication, revokeToken, showApiSettings, showApplications } from './account.ts'
import { authorize, authorizeSchema } from './authorize.ts'
import { showConsent, submitConsent } from './consent.ts'
import { cancelLogin, logout, showLogin, submitLogin } from './login.ts'
import { type PageRoute, page } from './page-route.ts'
import { partnerRoutes } from './partner/routes.ts'

export const pageRoutes: readonly PageRoute[] = [
  page('GET', '/v1/oauth/authorize', authorize, authorizeSchema),
  page('GET', '/login', showLogin),
  page('POST', '/login', submitLogin),
  page('POST', '/login/cancel', cancelLogin),
  page('POST', '/logout', logout),
  page('GET', '/consent', showConsent),
  page('POST', '/consent', submitConsent),
  page('GET', '/', (_context, _request, reply) => Promise.resolve(reply.redirect('/account', 303))),
  page('GET', '/account', showApplications),
  page('POST', '/account/revoke', revokeApplication),
  page('GET', '/account/api', showApiSettings),
  page('POST', '/account/api/tokens', createToken),
  page('POST', '/account/api/revoke', revokeToken),
  ...partnerRoutes,
]
