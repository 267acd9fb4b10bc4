/**
 * The pages for people, on one screen: path, gate, and what is shown or done. Who is let through each gate is
 * said in gates.ts. A page is loaded by its first visitor.
 */
import { administrationRows } from './administration-routes.ts'
import {
  developer,
  freshlySignedIn,
  freshOnLive,
  member,
  memberDeveloper,
  memberOwner,
  owner,
  signedIn,
  staff,
  strongly,
  viewer,
  withFactor,
  withReason,
} from './gates/gates.ts'
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
  withFiles,
} from './route.ts'
import { passwordRows, signInRows } from './sign-in-routes.ts'

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

const entry = whenVisited(() => import('./partner/home/entry.ts'))
const webhooks = whenVisited(() => import('./partner/webhooks/webhooks.ts'))
const replays = whenVisited(() => import('./partner/deliveries/replays.ts'))
const recovery = whenVisited(() => import('./partner/deliveries/recovery.ts'))
const incident = whenVisited(() => import('./partner/webhooks/incident.ts'))
const signature = whenVisited(() => import('./partner/reference/signature.ts'))
const skips = whenVisited(() => import('./partner/deliveries/skips.ts'))
const deliveries = whenVisited(() => import('./partner/deliveries/deliveries.ts'))
const delivery = whenVisited(() => import('./partner/deliveries/delivery.ts'))
const testHooks = whenVisited(() => import('./partner/webhooks/test-hooks.ts'))
const testOutcome = whenVisited(() => import('./partner/webhooks/test-outcome.ts'))
const clients = whenVisited(() => import('./partner/clients/clients.ts'))
const ownLook = whenVisited(() => import('./partner/clients/client-look.ts'))
const refusals = whenVisited(() => import('./partner/webhooks/refusals.ts'))
const reference = whenVisited(() => import('./partner/reference/reference.ts'))
const ownSearch = whenVisited(() => import('./partner/frame/search.ts'))
const catalogue = whenVisited(() => import('./partner/reference/catalogue.ts'))

const replayAsked = '/partner/:branch/webhooks/:id/replay?from=:from&to=:to&entity=:entity&failed=:failed'
const recoveryAsked = '/partner/:branch/webhooks/:id/recover?since=:since'

/** Where real events go, and what they are signed with. Simulated ones may go wherever a developer likes. */
const webhookKeeper = developer.and(freshOnLive)

/**
 * What a partner has on each site: clients, webhooks, deliveries, refusals. The gate of each row is the least
 * role that it takes.
 */
const portalRows: readonly Row[] = [
  page('/partner', signedIn, entry.showEntry),
  page('/partner/:branch', member, entry.showPartner),
  page('/partner/:branch/webhooks', viewer, webhooks.showWebhooks),
  makes(form('/partner/:branch/webhooks/create', webhookKeeper, webhooks.createWebhook)),
  page('/partner/:branch/webhooks/:id', viewer, webhooks.showWebhook),
  form('/partner/:branch/webhooks/:id/update', webhookKeeper, webhooks.updateWebhook),
  makes(form('/partner/:branch/webhooks/:id/secret', webhookKeeper, webhooks.rotateSecret)),
  form('/partner/:branch/webhooks/:id/pause', developer, webhooks.pauseWebhook),
  form('/partner/:branch/webhooks/:id/resume', developer, webhooks.resumeWebhook),
  form('/partner/:branch/webhooks/:id/delete', webhookKeeper, webhooks.deleteWebhook),
  page('/partner/:branch/webhooks/:id/replay', developer, replays.showReplay),
  makes(form('/partner/:branch/webhooks/:id/replay/start', developer, replays.startReplay, replayAsked)),
  page('/partner/:branch/webhooks/:id/replays/:replay', viewer, replays.showProgress),
  form('/partner/:branch/webhooks/:id/replays/:replay/cancel', developer, replays.cancelReplay),
  page('/partner/:branch/webhooks/:id/recover', developer, recovery.showRecovery),
  makes(
    form('/partner/:branch/webhooks/:id/recover/start', developer, recovery.startRecovery, recoveryAsked),
  ),
  page('/partner/:branch/webhooks/:id/incident', viewer, incident.showIncident),
  makes(form('/partner/:branch/webhooks/:id/incident/probe', developer, incident.probe)),
  page('/partner/:branch/webhooks/:id/skip', developer, skips.showSkip),
  makes(form('/partner/:branch/webhooks/:id/skip/start', developer, skips.startSkip)),
  page('/partner/:branch/webhooks/:id/skips/:skip', viewer, skips.showSkipped),
  page('/partner/:branch/search', viewer, ownSearch.showSearch),
  page('/partner/:branch/deliveries', viewer, deliveries.showDeliveries),
  page('/partner/:branch/deliveries/:id', viewer, delivery.showDelivery),
  makes(form('/partner/:branch/deliveries/:id/redeliver', developer, delivery.redeliver)),
  form('/partner/:branch/deliveries/:id/skip', developer, delivery.skip),
  page('/partner/:branch/test', developer, testHooks.showTestHooks),
  makes(
    form('/partner/:branch/test/send', developer, testHooks.sendTestHook, '/partner/:branch/test?kind=:type'),
  ),
  page('/partner/:branch/test/:event', viewer, testOutcome.showTestOutcome),
  page('/partner/:branch/clients', viewer, clients.showClients),
  makes(form('/partner/:branch/clients/create', developer.and(freshlySignedIn), clients.createClient)),
  page('/partner/:branch/clients/:client', viewer, clients.showClient),
  form('/partner/:branch/clients/:client/update', developer.and(freshlySignedIn), clients.updateClient),
  makes(form('/partner/:branch/clients/:client/scopes', developer.and(freshlySignedIn), clients.askScopes)),
  makes(
    form('/partner/:branch/clients/:client/rotate', developer.and(freshlySignedIn), clients.rotateSecret),
  ),
  form('/partner/:branch/clients/:client/revoke', developer, clients.revokeSecret),
  page('/partner/:branch/clients/:client/look', viewer, ownLook.showLook),
  page('/partner/:branch/clients/:client/look/logo', viewer, ownLook.showLookLogo),
  withFiles(
    form('/partner/:branch/clients/:client/look/save', developer.and(freshlySignedIn), ownLook.saveLook),
  ),
  page('/partner/:branch/refusals', viewer, refusals.showRefusals),
  page('/partner/:branch/signature', viewer, signature.showSignature),
  form('/partner/:branch/signature/check', viewer, signature.checkSignature),
  page('/partner/:branch/reference', viewer, reference.showReference),
  page('/partner/:branch/events', viewer, catalogue.showCatalogue),
]

const receiver = whenVisited(() => import('./partner/webhooks/receiver.ts'))

/** What needs no server, where nothing is at stake. */
const sandboxRows: readonly Row[] = [
  page('/partner/:branch/receiver', viewer, receiver.showReceiver),
  makes(form('/partner/:branch/receiver/try', developer, receiver.tryReceiver)),
]

const members = whenVisited(() => import('./partner/members/members.ts'))
const application = whenVisited(() => import('./partner/home/application.ts'))
const invitation = whenVisited(() => import('./partner/members/invitation.ts'))

/** A partner as a whole, on both sites at once: who it is, who acts for it, what the brokerage lets it do. */
const partnerRows: readonly Row[] = [
  makes(form('/partner/apply', signedIn, entry.submitApplication)),
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

const overview = whenVisited(() => import('./console/overview/overview.ts'))
const lanes = whenVisited(() => import('./console/webhooks/webhooks.ts'))
const laneIncident = whenVisited(() => import('./console/webhooks/incident.ts'))
const audit = whenVisited(() => import('./console/audit/audit.ts'))
const auditExport = whenVisited(() => import('./console/audit/audit-export.ts'))
const chain = whenVisited(() => import('./console/audit/chain.ts'))
const settings = whenVisited(() => import('./console/settings/settings.ts'))
const brand = whenVisited(() => import('./console/brand/brand.ts'))
const brandActs = whenVisited(() => import('./console/brand/brand-acts.ts'))
const brandPreview = whenVisited(() => import('./console/brand/brand-preview.ts'))
const partners = whenVisited(() => import('./console/partners/partners.ts'))
const partner = whenVisited(() => import('./console/partners/partner.ts'))
const failedCalls = whenVisited(() => import('./console/overview/failed-calls.ts'))
const client = whenVisited(() => import('./console/partners/client-acts.ts'))
const look = whenVisited(() => import('./console/partners/client-look.ts'))
const users = whenVisited(() => import('./console/people/users.ts'))
const user = whenVisited(() => import('./console/people/user.ts'))
const newUser = whenVisited(() => import('./console/people/new-user.ts'))
const userMail = whenVisited(() => import('./console/people/user-mail.ts'))
const userActs = whenVisited(() => import('./console/people/user-acts.ts'))
const search = whenVisited(() => import('./console/search/search.ts'))

/** A row that changes something takes every proof that its operator has. */
const partnerManager = staff('partners.manage').and(strongly)
const webhookOperator = staff('webhooks.operate').and(strongly)
const support = staff('users.manage').and(strongly)
const brandKeeper = staff('brand.manage').and(strongly)

const ofClient = '/console/partners/:branch/clients/:client'

/** How the gateway is and whom it serves. Each row names the permission that it takes. */
const consoleRows: readonly Row[] = [
  page('/console', staff('overview.see'), overview.showOverview),
  page('/console/search', staff('overview.see'), search.showSearch),
  page('/console/webhooks', staff('webhooks.see'), lanes.showWebhooks),
  page('/console/webhooks/:id', staff('webhooks.see'), lanes.showWebhook),
  form('/console/webhooks/:id/pause', webhookOperator.and(withReason), lanes.pauseWebhook),
  form('/console/webhooks/:id/resume', webhookOperator, lanes.resumeWebhook),
  page('/console/webhooks/:id/incident', staff('webhooks.see'), laneIncident.showIncident),
  makes(form('/console/webhooks/:id/incident/probe', webhookOperator, laneIncident.probe)),
  page('/console/webhooks/:id/recover', staff('webhooks.operate'), laneIncident.showRecovery),
  makes(form('/console/webhooks/:id/recover/start', webhookOperator, laneIncident.recover)),
  page('/console/audit', staff('audit.see'), audit.showAudit),
  page('/console/audit/export', staff('audit.export'), auditExport.exportAudit),
  page('/console/audit/chain', staff('audit.see'), chain.showChain),
  form('/console/audit/chain/verify', staff('audit.see'), chain.startVerification),
  page('/console/brand/:site', staff('brand.manage'), brand.showBrand),
  page('/console/brand/:site/preview', staff('brand.manage'), brandPreview.showPreview),
  form('/console/brand/:site/save', brandKeeper, brandActs.saveBrand),
  withFiles(form('/console/brand/:site/image', brandKeeper, brandActs.uploadImage)),
  form('/console/brand/:site/image/remove', brandKeeper, brandActs.removeImage),
  form('/console/brand/:site/activate', brandKeeper, brandActs.activateBrand),
  form('/console/brand/:site/discard', brandKeeper, brandActs.discardBrand),
  form('/console/brand/:site/return', brandKeeper, brandActs.returnToBrand),
  page('/console/settings', staff('settings.see'), settings.showSettings),
  page('/console/partners', staff('partners.see'), partners.showPartners),
  page('/console/partners/:branch', staff('partners.see'), partner.showPartner),
  page('/console/partners/:branch/failed-calls', staff('partners.see'), failedCalls.showFailedCalls),
  form('/console/partners/:branch/approve', partnerManager, partner.approvePartner),
  form('/console/partners/:branch/decline', partnerManager, partner.declinePartner),
  form('/console/partners/:branch/suspend', partnerManager, partner.suspendPartner),
  makes(form('/console/partners/:branch/message', partnerManager, partner.writeToPartner)),
  form('/console/partners/:branch/refresh/grant', partnerManager, partner.grantRefresh),
  form('/console/partners/:branch/refresh/withdraw', partnerManager.and(withReason), partner.withdrawRefresh),
  form(`${ofClient}/suspend`, partnerManager.and(withReason), client.suspendClient),
  form(`${ofClient}/activate`, partnerManager, client.activateClient),
  form(`${ofClient}/scopes`, partnerManager, client.setMost),
  form(`${ofClient}/scopes/grant`, partnerManager, client.grantScopes),
  form(`${ofClient}/scopes/decline`, partnerManager.and(withReason), client.declineScopes),
  page(`${ofClient}/look`, staff('partners.see'), look.showLook),
  page(`${ofClient}/look/logo`, staff('partners.see'), look.showLookLogo),
  form(`${ofClient}/look/accept`, partnerManager, look.accept),
  form(`${ofClient}/look/decline`, partnerManager.and(withReason), look.decline),
  form(`${ofClient}/look/withdraw`, partnerManager.and(withReason), look.withdraw),
  page('/console/users', staff('users.see'), users.showUsers),
  page('/console/users/new', staff('users.manage'), newUser.showNewUser),
  makes(form('/console/users/create', support, newUser.createNewUser, '/console/users/new')),
  page('/console/users/:id', staff('users.see'), user.showUser),
  form('/console/users/:id/email', support.and(withReason), userMail.changeEmail),
  form('/console/users/:id/reset', support.and(withReason), userMail.sendReset),
  form('/console/users/:id/lock', support.and(withReason), userActs.lockUser),
  form('/console/users/:id/unlock', support, userActs.unlockUser),
  form('/console/users/:id/sessions/close', support.and(withReason), userActs.closeSession),
  form('/console/users/:id/sessions/close/all', support.and(withReason), userActs.closeSessions),
  form('/console/users/:id/tokens/revoke', support.and(withReason), userActs.revokeToken),
  form('/console/users/:id/applications/revoke', support.and(withReason), userActs.revokeApplication),
  form('/console/users/:id/factors/reset', support.and(withReason), userActs.resetFactors),
  form('/console/users/:id/throttle/lift', support, userActs.liftThrottle),
]

export const pageRoutes: readonly PageRoute[] = tableOf([
  ...onBothSites([...signInRows, ...accountRows, ...portalRows]),
  ...inSandboxAlone(sandboxRows),
  // On the live site alone.
  ...passwordRows,
  ...personRows,
  ...partnerRows,
  ...consoleRows,
  ...administrationRows,
])
