/** The pages for people, on one screen. */
import { createToken, revokeToken, showApiSettings } from './api-settings.ts'
import { pauseApplication, resumeApplication, revokeApplication, showApplications } from './applications.ts'
import { removeApp, showAppSetup, submitAppSetup } from './authenticator-app.ts'
import { authorize, authorizeSchema } from './authorize.ts'
import { showConsent, submitConsent } from './consent.ts'
import { consoleRoutes } from './console/routes.ts'
import { closeDevice, closeOtherDevices, showDevices } from './devices.ts'
import { removeEmail, showEmail, submitEmail } from './email.ts'
import { showHistory } from './history.ts'
import { cancelLogin, logout, showLogin, submitLogin } from './login.ts'
import { chooseNotices, showNotices } from './notices.ts'
import { makes, type PageRoute, page } from './page-route.ts'
import { partnerRoutes } from './partner/routes.ts'
import { removeKey, showPasskeySetup, submitPasskeySetup } from './passkeys.ts'
import { showPassword, submitPassword } from './password.ts'
import { makeCodes } from './recovery-codes.ts'
import { showSecondStep, submitSecondStep } from './second-step.ts'
import { showSecurity } from './security.ts'

export const pageRoutes: readonly PageRoute[] = [
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
  makes(page('POST', '/account/api/tokens', createToken)),
  page('POST', '/account/api/revoke', revokeToken),
  page('GET', '/account/devices', showDevices),
  page('POST', '/account/devices/close', closeDevice),
  page('POST', '/account/devices/close/others', closeOtherDevices),
  page('GET', '/account/security', showSecurity),
  page('GET', '/account/security/app', showAppSetup),
  makes(page('POST', '/account/security/app', submitAppSetup)),
  page('POST', '/account/security/app/remove', removeApp),
  page('GET', '/account/security/passkey', showPasskeySetup),
  makes(page('POST', '/account/security/passkey', submitPasskeySetup)),
  page('POST', '/account/security/passkey/remove', removeKey),
  makes(page('POST', '/account/security/recovery', makeCodes)),
  page('GET', '/account/security/notices', showNotices),
  page('POST', '/account/security/notices', chooseNotices),
  page('GET', '/account/security/email', showEmail),
  page('POST', '/account/security/email', submitEmail),
  page('POST', '/account/security/email/remove', removeEmail),
  page('GET', '/account/password', showPassword),
  page('POST', '/account/password', submitPassword),
  page('GET', '/account/history', showHistory),
  ...partnerRoutes,
  ...consoleRoutes,
]
