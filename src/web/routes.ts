/** The pages for people, on one screen. */
import { authorize, authorizeSchema } from './sign-in/authorize.ts'
import { consoleRoutes } from './console/routes.ts'
import { gatedForm, gatedPage, strongly, withFactor } from './gates.ts'
import { makes, onBothSites, type PageRoute, page } from './route.ts'
import { partnerRoutes } from './partner/routes.ts'
import { whenVisited } from './frame/when-visited.ts'

const { createToken, revokeToken, showApiSettings } = whenVisited(() => import('./account/api-settings.ts'))
const { pauseApplication, resumeApplication, revokeApplication, showApplications } = whenVisited(
  () => import('./account/applications.ts'),
)
const { removeApp, showAppSetup, submitAppSetup } = whenVisited(() => import('./account/authenticator-app.ts'))
const { showConsent, submitConsent } = whenVisited(() => import('./sign-in/consent.ts'))
const { closeDevice, closeOtherDevices, showDevices } = whenVisited(() => import('./account/devices.ts'))
const { removeEmail, showEmail, submitEmail } = whenVisited(() => import('./account/email.ts'))
const { showHistory } = whenVisited(() => import('./account/history.ts'))
const { cancelLogin, logout, showLogin, submitLogin } = whenVisited(() => import('./sign-in/login.ts'))
const { chooseNotices, showNotices } = whenVisited(() => import('./account/notices.ts'))
const { removeKey, showPasskeySetup, submitPasskeySetup } = whenVisited(() => import('./account/passkeys.ts'))
const { showPassword, submitPassword } = whenVisited(() => import('./account/password.ts'))
const { makeCodes } = whenVisited(() => import('./account/recovery-codes.ts'))
const { showSecondStep, submitSecondStep } = whenVisited(() => import('./sign-in/second-step.ts'))
const { showSecurity } = whenVisited(() => import('./account/security.ts'))

/** Each site has its own: the way in, what was approved there, the tokens for it. */
const ofEachSite: readonly PageRoute[] = [
  page('GET', '/v1/oauth/authorize', authorize, authorizeSchema),
  page('GET', '/login', showLogin),
  page('POST', '/login', submitLogin),
  page('GET', '/login/second', showSecondStep),
  page('POST', '/login/second', submitSecondStep),
  page('POST', '/login/cancel', cancelLogin),
  page('POST', '/logout', logout),
  page('GET', '/consent', showConsent),
  makes(page('POST', '/consent', submitConsent)),
  page('GET', '/', (_context, _request, reply) => Promise.resolve(reply.redirect('/account', 303))),
  page('GET', '/account', showApplications),
  page('POST', '/account/revoke', revokeApplication),
  page('POST', '/account/pause', pauseApplication),
  page('POST', '/account/resume', resumeApplication),
  page('GET', '/account/api', showApiSettings),
  makes(gatedForm('/account/api/tokens', strongly, '/account/api', createToken)),
  page('POST', '/account/api/revoke', revokeToken),
]

/** A person has one password, one set of factors, one address: they are guarded where the money is. */
const ofThePerson: readonly PageRoute[] = [
  page('GET', '/account/devices', showDevices),
  page('POST', '/account/devices/close', closeDevice),
  page('POST', '/account/devices/close/others', closeOtherDevices),
  page('GET', '/account/security', showSecurity),
  gatedPage('/account/security/app', strongly, showAppSetup),
  makes(gatedForm('/account/security/app', strongly, '/account/security/app', submitAppSetup)),
  gatedForm('/account/security/app/remove', strongly, '/account/security', removeApp),
  gatedPage('/account/security/passkey', strongly, showPasskeySetup),
  makes(gatedForm('/account/security/passkey', strongly, '/account/security/passkey', submitPasskeySetup)),
  gatedForm('/account/security/passkey/remove', strongly, '/account/security', removeKey),
  makes(gatedForm('/account/security/recovery', strongly, '/account/security', makeCodes)),
  page('GET', '/account/security/notices', showNotices),
  page('POST', '/account/security/notices', chooseNotices),
  gatedPage('/account/security/email', strongly, showEmail),
  gatedForm('/account/security/email', strongly, '/account/security/email', submitEmail),
  gatedForm('/account/security/email/remove', strongly, '/account/security/email', removeEmail),
  gatedPage('/account/password', withFactor, showPassword),
  gatedForm('/account/password', withFactor, '/account/password', submitPassword),
  page('GET', '/account/history', showHistory),
]

export const pageRoutes: readonly PageRoute[] = [
  ...onBothSites(ofEachSite),
  ...ofThePerson,
  ...partnerRoutes,
  ...consoleRoutes,
]
