/**
 * The pages for people, on one screen: path, gate, and what is shown or done. Who is let through each gate is said in gates.ts. A page is
 * loaded by its first visitor.
 */
import {
  anyone,
  developer,
  freshlySignedIn,
  member,
  memberDeveloper,
  memberOwner,
  operator,
  owner,
  signedIn,
  strongly,
  viewer,
  withFactor,
  withReason,
} from './gates.ts'
import {
  form,
  inSandboxAlone,
  makes,
  onBothSites,
  type PageRoute,
  page,
  type Row,
  tableOf,
  whenVisited,
} from './route.ts'
import { authorize, authorizeSchema } from './sign-in/authorize.ts'

const home = whenVisited(() => import('./sign-in/home.ts'))
const login = whenVisited(() => import('./sign-in/login.ts'))
const logout = whenVisited(() => import('./sign-in/logout.ts'))
const secondStep = whenVisited(() => import('./sign-in/second-step.ts'))
const provider = whenVisited(() => import('./sign-in/provider.ts'))
const consent = whenVisited(() => import('./sign-in/consent.ts'))

/** Each site has its own way in. */
const signInRows: readonly Row[] = [
  page('/v1/oauth/authorize', anyone, authorize, authorizeSchema),
  page('/login', anyone, login.showLogin),
  form('/login', anyone, login.submitLogin),
  page('/login/second', anyone, secondStep.showSecondStep),
  form('/login/second', anyone, secondStep.submitSecondStep),
  page('/login/password', anyone, login.showPasswordLogin),
  page('/login/with/:provider', anyone, provider.setOutTo),
  page('/login/from/:provider', anyone, provider.comeBackFrom),
  form('/login/cancel', anyone, login.cancelLogin),
  form('/logout', anyone, logout.logout),
  page('/signed-out', anyone, logout.showSignedOut),
  form('/logout/from/:provider', anyone, logout.takeLogout),
  page('/consent', anyone, consent.showConsent),
  makes(form('/consent', anyone, consent.submitConsent)),
  page('/', anyone, home.showHome),
]

const applications = whenVisited(() => import('./account/applications.ts'))
const apiSettings = whenVisited(() => import('./account/api-settings.ts'))

/** What a holder approved on each site, and the tokens for it. */
const accountRows: readonly Row[] = [
  page('/account', signedIn, applications.showApplications),
  form('/account/revoke', signedIn, applications.revokeApplication),
  form('/account/pause', signedIn, applications.pauseApplication),
  form('/account/resume', signedIn, applications.resumeApplication),
  page('/account/api', signedIn, apiSettings.showApiSettings),
  makes(form('/account/api/tokens', strongly, apiSettings.createToken)),
  form('/account/api/revoke', signedIn, apiSettings.revokeToken),
]

const devices = whenVisited(() => import('./account/devices.ts'))
const security = whenVisited(() => import('./account/security.ts'))
const app = whenVisited(() => import('./account/authenticator-app.ts'))
const passkeys = whenVisited(() => import('./account/passkeys.ts'))
const recoveryCodes = whenVisited(() => import('./account/recovery-codes.ts'))
const notices = whenVisited(() => import('./account/notices.ts'))
const email = whenVisited(() => import('./account/email.ts'))
const password = whenVisited(() => import('./account/password.ts'))
const history = whenVisited(() => import('./account/history.ts'))

/** A person has one password, one set of factors, one address: they are guarded where the money is. */
const personRows: readonly Row[] = [
  page('/account/devices', signedIn, devices.showDevices),
  form('/account/devices/close', signedIn, devices.closeDevice),
  form('/account/devices/close/others', signedIn, devices.closeOtherDevices),
  page('/account/security', signedIn, security.showSecurity),
  page('/account/security/app', strongly, app.showAppSetup),
  makes(form('/account/security/app', strongly, app.submitAppSetup)),
  form('/account/security/app/remove', strongly, app.removeApp, '/account/security'),
  page('/account/security/passkey', strongly, passkeys.showPasskeySetup),
  makes(form('/account/security/passkey', strongly, passkeys.submitPasskeySetup)),
  form('/account/security/passkey/remove', strongly, passkeys.removeKey, '/account/security'),
  makes(form('/account/security/recovery', strongly, recoveryCodes.makeCodes)),
  page('/account/security/notices', signedIn, notices.showNotices),
  form('/account/security/notices', signedIn, notices.chooseNotices),
  page('/account/security/email', strongly, email.showEmail),
  form('/account/security/email', strongly, email.submitEmail),
  form('/account/security/email/remove', strongly, email.removeEmail),
  page('/account/password', withFactor, password.showPassword),
  form('/account/password', withFactor, password.submitPassword),
  page('/account/history', signedIn, history.showHistory),
]

const entry = whenVisited(() => import('./partner/entry.ts'))
const webhooks = whenVisited(() => import('./partner/webhooks.ts'))
const replays = whenVisited(() => import('./partner/replays.ts'))
const recovery = whenVisited(() => import('./partner/recovery.ts'))
const incident = whenVisited(() => import('./partner/incident.ts'))
const signature = whenVisited(() => import('./partner/signature.ts'))
const skips = whenVisited(() => import('./partner/skips.ts'))
const deliveries = whenVisited(() => import('./partner/deliveries.ts'))
const delivery = whenVisited(() => import('./partner/delivery.ts'))
const testHooks = whenVisited(() => import('./partner/test-hooks.ts'))
const testOutcome = whenVisited(() => import('./partner/test-outcome.ts'))
const clients = whenVisited(() => import('./partner/clients.ts'))
const refusals = whenVisited(() => import('./partner/refusals.ts'))
const reference = whenVisited(() => import('./partner/reference.ts'))
const ownSearch = whenVisited(() => import('./partner/search.ts'))
const catalogue = whenVisited(() => import('./partner/catalogue.ts'))

const replayAsked = '/partner/:branch/webhooks/:id/replay?from=:from&to=:to&entity=:entity&failed=:failed'
const recoveryAsked = '/partner/:branch/webhooks/:id/recover?since=:since'

/** What a partner has on each site: clients, webhooks, deliveries, refusals. The gate of each row is the least role that it takes. */
const portalRows: readonly Row[] = [
  page('/partner', signedIn, entry.showEntry),
  page('/partner/:branch', member, entry.showPartner),
  page('/partner/:branch/webhooks', viewer, webhooks.showWebhooks),
  makes(form('/partner/:branch/webhooks/create', developer, webhooks.createWebhook)),
  page('/partner/:branch/webhooks/:id', viewer, webhooks.showWebhook),
  form('/partner/:branch/webhooks/:id/update', developer, webhooks.updateWebhook),
  makes(form('/partner/:branch/webhooks/:id/secret', developer, webhooks.rotateSecret)),
  form('/partner/:branch/webhooks/:id/pause', developer, webhooks.pauseWebhook),
  form('/partner/:branch/webhooks/:id/resume', developer, webhooks.resumeWebhook),
  form('/partner/:branch/webhooks/:id/delete', developer, webhooks.deleteWebhook),
  page('/partner/:branch/webhooks/:id/replay', developer, replays.showReplay),
  makes(form('/partner/:branch/webhooks/:id/replay/start', developer, replays.startReplay, replayAsked)),
  page('/partner/:branch/webhooks/:id/replays/:replay', viewer, replays.showProgress),
  form('/partner/:branch/webhooks/:id/replays/:replay/cancel', developer, replays.cancelReplay),
  page('/partner/:branch/webhooks/:id/recover', developer, recovery.showRecovery),
  makes(form('/partner/:branch/webhooks/:id/recover/start', developer, recovery.startRecovery, recoveryAsked)),
  page('/partner/:branch/webhooks/:id/incident', viewer, incident.showIncident),
  makes(form('/partner/:branch/webhooks/:id/incident/probe', developer, incident.probe)),
  page('/partner/:branch/webhooks/:id/skip', developer, skips.showSkip),
  makes(form('/partner/:branch/webhooks/:id/skip/start', developer, skips.startSkip)),
  page('/partner/:branch/webhooks/:id/skips/:skip', viewer, skips.showSkipProgress),
  page('/partner/:branch/search', viewer, ownSearch.showSearch),
  page('/partner/:branch/deliveries', viewer, deliveries.showDeliveries),
  page('/partner/:branch/deliveries/:id', viewer, delivery.showDelivery),
  makes(form('/partner/:branch/deliveries/:id/redeliver', developer, delivery.redeliver)),
  form('/partner/:branch/deliveries/:id/skip', developer, delivery.skip),
  page('/partner/:branch/test', developer, testHooks.showTestHooks),
  makes(form('/partner/:branch/test/send', developer, testHooks.sendTestHook, '/partner/:branch/test?kind=:type')),
  page('/partner/:branch/test/:event', viewer, testOutcome.showTestOutcome),
  page('/partner/:branch/clients', viewer, clients.showClients),
  makes(form('/partner/:branch/clients/create', developer.and(freshlySignedIn), clients.createClient)),
  page('/partner/:branch/clients/:client', viewer, clients.showClient),
  form('/partner/:branch/clients/:client/update', developer.and(freshlySignedIn), clients.updateClient),
  makes(form('/partner/:branch/clients/:client/scopes', developer.and(freshlySignedIn), clients.askScopes)),
  makes(form('/partner/:branch/clients/:client/rotate', developer.and(freshlySignedIn), clients.rotateSecret)),
  form('/partner/:branch/clients/:client/revoke', developer, clients.revokeSecret),
  page('/partner/:branch/refusals', viewer, refusals.showRefusals),
  page('/partner/:branch/signature', viewer, signature.showSignature),
  form('/partner/:branch/signature/check', viewer, signature.checkSignature),
  page('/partner/:branch/reference', viewer, reference.showReference),
  page('/partner/:branch/events', viewer, catalogue.showCatalogue),
]

const receiver = whenVisited(() => import('./partner/receiver.ts'))

/** What needs no server, where nothing is at stake. */
const sandboxRows: readonly Row[] = [
  page('/partner/:branch/receiver', viewer, receiver.showReceiver),
  makes(form('/partner/:branch/receiver/try', developer, receiver.tryReceiver)),
]

const members = whenVisited(() => import('./partner/members.ts'))
const application = whenVisited(() => import('./partner/application.ts'))
const invitation = whenVisited(() => import('./partner/invitation.ts'))

/** A partner as a whole, on both sites at once: who it is, who acts for it, what the brokerage lets it do. */
const partnerRows: readonly Row[] = [
  makes(form('/partner/apply', signedIn, entry.submitApplication)),
  form('/partner/accept', signedIn, entry.acceptInvited),
  form('/partner/decline', signedIn, entry.declineInvited),
  page('/partner/invitation/:token', signedIn, invitation.showInvitation),
  makes(form('/partner/invitation/:token/accept', signedIn, invitation.accept)),
  form('/partner/invitation/:token/decline', signedIn, invitation.decline),
  makes(form('/partner/:branch/apply', memberOwner, application.applyAgain)),
  page('/partner/:branch/messages', member, application.showMessages),
  makes(form('/partner/:branch/messages/send', memberDeveloper, application.writeToBrokerage)),
  makes(form('/partner/:branch/clients/refresh', developer, clients.askRefresh)),
  page('/partner/:branch/members', viewer, members.showMembers),
  makes(form('/partner/:branch/members/invite', owner.and(strongly), members.invite)),
  makes(form('/partner/:branch/members/resend', owner.and(strongly), members.resend)),
  form('/partner/:branch/members/uninvite', owner.and(freshlySignedIn), members.uninvite),
  form('/partner/:branch/members/role', owner.and(strongly), members.setRole),
  form('/partner/:branch/members/remove', owner.and(freshlySignedIn), members.remove),
  form('/partner/:branch/members/leave', viewer.and(freshlySignedIn), members.leave),
]

const overview = whenVisited(() => import('./console/overview.ts'))
const lanes = whenVisited(() => import('./console/webhooks.ts'))
const laneIncident = whenVisited(() => import('./console/incident.ts'))
const audit = whenVisited(() => import('./console/audit.ts'))
const auditExport = whenVisited(() => import('./console/audit-export.ts'))
const chain = whenVisited(() => import('./console/chain.ts'))
const settings = whenVisited(() => import('./console/settings.ts'))
const partners = whenVisited(() => import('./console/partners.ts'))
const partner = whenVisited(() => import('./console/partner.ts'))
const failedCalls = whenVisited(() => import('./console/failed-calls.ts'))
const client = whenVisited(() => import('./console/client-acts.ts'))
const users = whenVisited(() => import('./console/users.ts'))
const user = whenVisited(() => import('./console/user.ts'))
const userActs = whenVisited(() => import('./console/user-acts.ts'))
const search = whenVisited(() => import('./console/search.ts'))

/** How the gateway is and whom it serves. What changes something takes every proof that the operator has. */
const consoleRows: readonly Row[] = [
  page('/console', operator, overview.showOverview),
  page('/console/search', operator, search.showSearch),
  page('/console/webhooks', operator, lanes.showWebhooks),
  page('/console/webhooks/:id', operator, lanes.showWebhook),
  form('/console/webhooks/:id/pause', operator.and(strongly).and(withReason), lanes.pauseWebhook),
  form('/console/webhooks/:id/resume', operator.and(strongly), lanes.resumeWebhook),
  page('/console/webhooks/:id/incident', operator, laneIncident.showIncident),
  makes(form('/console/webhooks/:id/incident/probe', operator.and(strongly), laneIncident.probe)),
  page('/console/webhooks/:id/recover', operator, laneIncident.showRecovery),
  makes(form('/console/webhooks/:id/recover/start', operator.and(strongly), laneIncident.recover)),
  page('/console/audit', operator, audit.showAudit),
  page('/console/audit/export', operator, auditExport.exportAudit),
  page('/console/audit/chain', operator, chain.showChain),
  form('/console/audit/chain/verify', operator, chain.startVerification),
  page('/console/settings', operator, settings.showSettings),
  page('/console/partners', operator, partners.showPartners),
  page('/console/partners/:branch', operator, partner.showPartner),
  page('/console/partners/:branch/failed-calls', operator, failedCalls.showFailedCalls),
  form('/console/partners/:branch/approve', operator.and(strongly), partner.approvePartner),
  form('/console/partners/:branch/decline', operator.and(strongly), partner.declinePartner),
  form('/console/partners/:branch/suspend', operator.and(strongly), partner.suspendPartner),
  makes(form('/console/partners/:branch/message', operator.and(strongly), partner.writeToPartner)),
  form('/console/partners/:branch/refresh/grant', operator.and(strongly), partner.grantRefresh),
  form('/console/partners/:branch/refresh/withdraw', operator.and(strongly).and(withReason), partner.withdrawRefresh),
  form(
    '/console/partners/:branch/clients/:client/suspend',
    operator.and(strongly).and(withReason),
    client.suspendClient,
  ),
  form('/console/partners/:branch/clients/:client/activate', operator.and(strongly), client.activateClient),
  form('/console/partners/:branch/clients/:client/scopes', operator.and(strongly), client.setMost),
  form('/console/partners/:branch/clients/:client/scopes/grant', operator.and(strongly), client.grantScopes),
  form(
    '/console/partners/:branch/clients/:client/scopes/decline',
    operator.and(strongly).and(withReason),
    client.declineScopes,
  ),
  page('/console/users', operator, users.showUsers),
  page('/console/users/:id', operator, user.showUser),
  form('/console/users/:id/lock', operator.and(strongly).and(withReason), userActs.lockUser),
  form('/console/users/:id/unlock', operator.and(strongly), userActs.unlockUser),
  form('/console/users/:id/sessions/close', operator.and(strongly).and(withReason), userActs.closeSession),
  form('/console/users/:id/sessions/close/all', operator.and(strongly).and(withReason), userActs.closeSessions),
  form('/console/users/:id/tokens/revoke', operator.and(strongly).and(withReason), userActs.revokeToken),
  form('/console/users/:id/applications/revoke', operator.and(strongly).and(withReason), userActs.revokeApplication),
  form('/console/users/:id/factors/reset', operator.and(strongly).and(withReason), userActs.resetFactors),
  form('/console/users/:id/throttle/lift', operator.and(strongly), userActs.liftThrottle),
]

export const pageRoutes: readonly PageRoute[] = tableOf([
  ...onBothSites([...signInRows, ...accountRows, ...portalRows]),
  ...inSandboxAlone(sandboxRows),
  // On the live site alone.
  ...personRows,
  ...partnerRows,
  ...consoleRows,
])
