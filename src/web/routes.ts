/**
 * The pages for people, on one screen: path, gate, and what is shown or done. Who is let through each gate is
 * said in gates.ts. A page is loaded by its first visitor.
 */
import * as account from './account/forms.ts'
import { administrationRows } from './administration-routes.ts'
import * as auditForms from './console/audit/forms.ts'
import * as brandForms from './console/brand/forms.ts'
import * as partnerForms from './console/partners/forms.ts'
import * as peopleForms from './console/people/forms.ts'
import * as laneForms from './console/webhooks/forms.ts'
import * as savedViews from './frame/saved-views.ts'
import {
  anyHolder,
  developer,
  freshlySignedIn,
  freshOnLive,
  guest,
  member,
  memberDeveloper,
  memberOwner,
  owner,
  signedIn,
  staff,
  strongly,
  viewer,
  visitor,
  withFactor,
  withReason,
} from './gates/gates.ts'
import * as alertForms from './partner/alerts/forms.ts'
import * as clientForms from './partner/clients/forms.ts'
import * as deliveryForms from './partner/deliveries/forms.ts'
import * as homeForms from './partner/home/forms.ts'
import * as memberForms from './partner/members/forms.ts'
import * as signatureForms from './partner/reference/forms.ts'
import * as webhookForms from './partner/webhooks/forms.ts'
import {
  inSandboxAlone,
  onBothSites,
  type PageRoute,
  page,
  type Row,
  send,
  tableOf,
  whenVisited,
} from './route.ts'
import { passwordRows, sandboxSignInRows, signInRows } from './sign-in-routes.ts'

const applications = whenVisited(() => import('./account/applications.ts'))
const apiSettings = whenVisited(() => import('./account/api-settings.ts'))
const views = whenVisited(() => import('./account/views.ts'))

/** What a holder approved on each site, and the tokens for it. */
const accountRows: readonly Row[] = [
  page('/account', anyHolder, applications.showApplications),
  send(account.revokeApplication, anyHolder, applications.revokeApplication),
  send(account.pauseApplication, anyHolder, applications.pauseApplication),
  send(account.resumeApplication, anyHolder, applications.resumeApplication),
  page('/account/api', signedIn, apiSettings.showApiSettings),
  send(account.createToken, strongly, apiSettings.createToken),
  send(account.revokeToken, signedIn, apiSettings.revokeToken),
  page('/account/views', signedIn, views.showViews),
  send(savedViews.saveView, signedIn, views.saveView),
  send(savedViews.removeView, signedIn, views.removeView),
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
  send(account.closeDevice, signedIn, devices.closeDevice),
  send(account.closeOtherDevices, signedIn, devices.closeOtherDevices),
  page('/account/security', signedIn, security.showSecurity),
  page('/account/security/app', strongly, app.showAppSetup),
  send(account.setUpApp, strongly, app.submitAppSetup),
  send(account.removeApp, strongly, app.removeApp),
  page('/account/security/passkey', strongly, passkeys.showPasskeySetup),
  send(account.addPasskey, strongly, passkeys.submitPasskeySetup),
  send(account.removePasskey, strongly, passkeys.removeKey),
  send(account.makeRecoveryCodes, strongly, recoveryCodes.makeCodes),
  page('/account/security/notices', signedIn, notices.showNotices),
  send(account.chooseNotices, signedIn, notices.chooseNotices),
  page('/account/security/email', strongly, email.showEmail),
  send(account.setEmail, strongly, email.submitEmail),
  send(account.removeEmail, strongly, email.removeEmail),
  page('/account/password', withFactor, password.showPassword),
  send(account.changePassword, withFactor, password.submitPassword),
  page('/account/history', signedIn, history.showHistory),
]

const alerts = whenVisited(() => import('./partner/alerts/alerts.ts'))
const entry = whenVisited(() => import('./partner/home/entry.ts'))
const webhooks = whenVisited(() => import('./partner/webhooks/webhooks.ts'))
const replays = whenVisited(() => import('./partner/deliveries/replays.ts'))
const recovery = whenVisited(() => import('./partner/deliveries/recovery.ts'))
const incident = whenVisited(() => import('./partner/webhooks/incident.ts'))
const signature = whenVisited(() => import('./partner/reference/signature.ts'))
const proofs = whenVisited(() => import('./partner/reference/proofs.ts'))
const skips = whenVisited(() => import('./partner/deliveries/skips.ts'))
const deliveries = whenVisited(() => import('./partner/deliveries/deliveries.ts'))
const delivery = whenVisited(() => import('./partner/deliveries/delivery.ts'))
const testHooks = whenVisited(() => import('./partner/webhooks/test-hooks.ts'))
const testOutcome = whenVisited(() => import('./partner/webhooks/test-outcome.ts'))
const clients = whenVisited(() => import('./partner/clients/clients.ts'))
const clientKeys = whenVisited(() => import('./partner/clients/client-keys.ts'))
const ownLook = whenVisited(() => import('./partner/clients/client-look.ts'))
const ownCalls = whenVisited(() => import('./partner/calls/calls.ts'))
const reference = whenVisited(() => import('./partner/reference/reference.ts'))
const ownSearch = whenVisited(() => import('./partner/frame/search.ts'))
const catalogue = whenVisited(() => import('./partner/reference/catalogue.ts'))

/** Where real events go, and what they are signed with. Simulated ones may go wherever a developer likes. */
const webhookKeeper = developer.and(freshOnLive)

/**
 * What a partner has on each site: clients, webhooks, deliveries, calls. The gate of each row is the least
 * role that it takes.
 */
const portalRows: readonly Row[] = [
  page('/partner', visitor, entry.showEntry),
  page('/partner/:branch', member, entry.showPartner),
  page('/partner/:branch/webhooks', viewer, webhooks.showWebhooks),
  send(webhookForms.createWebhook, webhookKeeper, webhooks.createWebhook),
  page('/partner/:branch/webhooks/:id', viewer, webhooks.showWebhook),
  send(webhookForms.updateWebhook, webhookKeeper, webhooks.updateWebhook),
  send(webhookForms.rotateSecret, webhookKeeper, webhooks.rotateSecret),
  send(webhookForms.pauseWebhook, developer, webhooks.pauseWebhook),
  send(webhookForms.resumeWebhook, developer, webhooks.resumeWebhook),
  send(webhookForms.deleteWebhook, webhookKeeper, webhooks.deleteWebhook),
  page('/partner/:branch/webhooks/:id/replay', developer, replays.showReplay),
  send(deliveryForms.startReplay, developer, replays.startReplay),
  page('/partner/:branch/webhooks/:id/replays/:replay', viewer, replays.showProgress),
  send(deliveryForms.cancelReplay, developer, replays.cancelReplay),
  page('/partner/:branch/webhooks/:id/recover', developer, recovery.showRecovery),
  send(webhookForms.startRecovery, developer, recovery.startRecovery),
  page('/partner/:branch/webhooks/:id/incident', viewer, incident.showIncident),
  send(webhookForms.probe, developer, incident.probe),
  page('/partner/:branch/webhooks/:id/skip', developer, skips.showSkip),
  send(deliveryForms.startSkip, developer, skips.startSkip),
  page('/partner/:branch/webhooks/:id/skips/:skip', viewer, skips.showSkipped),
  page('/partner/:branch/alerts', viewer, alerts.showAlerts),
  send(alertForms.add, webhookKeeper, alerts.add),
  send(alertForms.confirm, webhookKeeper, alerts.confirm),
  send(alertForms.sendCode, developer, alerts.sendCode),
  send(alertForms.change, developer, alerts.change),
  send(alertForms.test, developer, alerts.test),
  send(alertForms.remove, developer, alerts.remove),
  page('/partner/:branch/search', viewer, ownSearch.showSearch),
  page('/partner/:branch/deliveries', viewer, deliveries.showDeliveries),
  send(deliveryForms.sendAgain, developer, deliveries.sendAgain),
  page('/partner/:branch/deliveries/:id', viewer, delivery.showDelivery),
  send(deliveryForms.redeliver, developer, delivery.redeliver),
  send(deliveryForms.skip, developer, delivery.skip),
  page('/partner/:branch/test', developer, testHooks.showTestHooks),
  send(webhookForms.sendTestHook, developer, testHooks.sendTestHook),
  page('/partner/:branch/test/:event', viewer, testOutcome.showTestOutcome),
  page('/partner/:branch/clients', viewer, clients.showClients),
  send(clientForms.createClient, developer.and(freshlySignedIn), clients.createClient),
  page('/partner/:branch/clients/:client', viewer, clients.showClient),
  send(clientForms.updateClient, developer.and(freshlySignedIn), clients.updateClient),
  send(clientForms.askScopes, developer.and(freshlySignedIn), clients.askScopes),
  send(clientForms.askFapi2, developer.and(freshlySignedIn), clients.askFapi2),
  send(clientForms.rotateSecret, developer.and(freshlySignedIn), clients.rotateSecret),
  send(clientForms.revokeSecret, developer, clients.revokeSecret),
  send(clientForms.addKeys, developer.and(freshlySignedIn), clientKeys.addKeys),
  send(clientForms.removeKey, developer, clientKeys.removeKey),
  send(clientForms.placeKeys, developer.and(freshlySignedIn), clientKeys.placeKeys),
  page('/partner/:branch/clients/:client/look', viewer, ownLook.showLook),
  page('/partner/:branch/clients/:client/look/logo', viewer, ownLook.showLookLogo),
  send(clientForms.saveLook, developer.and(freshlySignedIn), ownLook.saveLook),
  page('/partner/:branch/calls', viewer, ownCalls.showCalls),
  page('/partner/:branch/calls/:call', viewer, ownCalls.showCall),
  page('/partner/:branch/signature', viewer, signature.showSignature),
  send(signatureForms.checkSignature, viewer, signature.checkSignature),
  page('/partner/:branch/proofs', viewer, proofs.showProofs),
  send(signatureForms.checkProofs, viewer, proofs.checkProofs),
  page('/partner/:branch/reference', viewer, reference.showReference),
  page('/partner/:branch/events', viewer, catalogue.showCatalogue),
]

const testHolders = whenVisited(() => import('./partner/home/test-holders.ts'))
const receiver = whenVisited(() => import('./partner/webhooks/receiver.ts'))

/** What needs no server, where nothing is at stake. */
const sandboxRows: readonly Row[] = [
  page('/partner/:branch/test-holders', viewer, testHolders.showTestHolders),
  page('/partner/:branch/receiver', viewer, receiver.showReceiver),
  send(webhookForms.tryReceiver, developer, receiver.tryReceiver),
]

const members = whenVisited(() => import('./partner/members/members.ts'))
const application = whenVisited(() => import('./partner/home/application.ts'))
const invitation = whenVisited(() => import('./partner/members/invitation.ts'))
const joining = whenVisited(() => import('./partner/members/joining.ts'))

/** A partner as a whole, on both sites at once: who it is, who acts for it, what the brokerage lets it do. */
const partnerRows: readonly Row[] = [
  send(homeForms.apply, signedIn, entry.submitApplication),
  page('/partner/invitation/:token', visitor, invitation.showInvitation),
  send(memberForms.join, guest, joining.join),
  send(memberForms.accept, signedIn, invitation.accept),
  send(memberForms.decline, signedIn, invitation.decline),
  send(homeForms.applyAgain, memberOwner, application.applyAgain),
  page('/partner/:branch/messages', member, application.showMessages),
  send(homeForms.sendMessage, memberDeveloper, application.writeToBrokerage),
  send(clientForms.askRefresh, developer, clients.askRefresh),
  page('/partner/:branch/members', viewer, members.showMembers),
  send(memberForms.invite, owner.and(strongly), members.invite),
  send(memberForms.resend, owner.and(strongly), members.resend),
  send(memberForms.uninvite, owner.and(freshlySignedIn), members.uninvite),
  send(memberForms.setRole, owner.and(strongly), members.setRole),
  send(memberForms.remove, owner.and(freshlySignedIn), members.remove),
  send(memberForms.leave, viewer.and(freshlySignedIn), members.leave),
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
const calls = whenVisited(() => import('./console/partners/calls.ts'))
const client = whenVisited(() => import('./console/partners/client-acts.ts'))
const profile = whenVisited(() => import('./console/partners/profile-acts.ts'))
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
  send(laneForms.pauseWebhook, webhookOperator.and(withReason), lanes.pauseWebhook),
  send(laneForms.resumeWebhook, webhookOperator, lanes.resumeWebhook),
  page('/console/webhooks/:id/incident', staff('webhooks.see'), laneIncident.showIncident),
  send(laneForms.probe, webhookOperator, laneIncident.probe),
  page('/console/webhooks/:id/recover', staff('webhooks.operate'), laneIncident.showRecovery),
  send(laneForms.recover, webhookOperator, laneIncident.recover),
  page('/console/audit', staff('audit.see'), audit.showAudit),
  page('/console/audit/export', staff('audit.export'), auditExport.exportAudit),
  page('/console/audit/chain', staff('audit.see'), chain.showChain),
  send(auditForms.verifyChain, staff('audit.see'), chain.startVerification),
  page('/console/brand/:site', staff('brand.manage'), brand.showBrand),
  page('/console/brand/:site/preview', staff('brand.manage'), brandPreview.showPreview),
  send(brandForms.saveBrand, brandKeeper, brandActs.saveBrand),
  send(brandForms.uploadImage, brandKeeper, brandActs.uploadImage),
  send(brandForms.removeImage, brandKeeper, brandActs.removeImage),
  send(brandForms.activateBrand, brandKeeper, brandActs.activateBrand),
  send(brandForms.discardBrand, brandKeeper, brandActs.discardBrand),
  send(brandForms.returnToBrand, brandKeeper, brandActs.returnToBrand),
  page('/console/settings', staff('settings.see'), settings.showSettings),
  page('/console/partners', staff('partners.see'), partners.showPartners),
  page('/console/partners/:branch', staff('partners.see'), partner.showPartner),
  page('/console/partners/:branch/calls', staff('partners.see'), calls.showCalls),
  page('/console/partners/:branch/calls/:call', staff('partners.see'), calls.showCall),
  send(partnerForms.approve, partnerManager, partner.approvePartner),
  send(partnerForms.decline, partnerManager.and(withReason), partner.declinePartner),
  send(partnerForms.suspend, partnerManager.and(withReason), partner.suspendPartner),
  send(partnerForms.writeMessage, partnerManager, partner.writeToPartner),
  send(partnerForms.grantRefresh, partnerManager, partner.grantRefresh),
  send(partnerForms.withdrawRefresh, partnerManager.and(withReason), partner.withdrawRefresh),
  send(partnerForms.suspendClient, partnerManager.and(withReason), client.suspendClient),
  send(partnerForms.activateClient, partnerManager, client.activateClient),
  send(partnerForms.setScopes, partnerManager, client.setMost),
  send(partnerForms.setRequired, partnerManager, client.setRequired),
  send(partnerForms.grantScopes, partnerManager, client.grantScopes),
  send(partnerForms.declineScopes, partnerManager.and(withReason), client.declineScopes),
  send(partnerForms.setProfile, partnerManager, profile.setClientProfile),
  send(partnerForms.declineProfile, partnerManager.and(withReason), profile.declineProfile),
  page(`${ofClient}/look`, staff('partners.see'), look.showLook),
  page(`${ofClient}/look/logo`, staff('partners.see'), look.showLookLogo),
  send(partnerForms.acceptLook, partnerManager, look.accept),
  send(partnerForms.declineLook, partnerManager.and(withReason), look.decline),
  send(partnerForms.withdrawLook, partnerManager.and(withReason), look.withdraw),
  page('/console/users', staff('users.see'), users.showUsers),
  page('/console/users/new', staff('users.manage'), newUser.showNewUser),
  send(peopleForms.createUser, support, newUser.createNewUser),
  page('/console/users/:id', staff('users.see'), user.showUser),
  send(peopleForms.changeEmail, support.and(withReason), userMail.changeEmail),
  send(peopleForms.sendReset, support.and(withReason), userMail.sendReset),
  send(peopleForms.lockUser, support.and(withReason), userActs.lockUser),
  send(peopleForms.unlockUser, support, userActs.unlockUser),
  send(peopleForms.closeSession, support.and(withReason), userActs.closeSession),
  send(peopleForms.closeSessions, support.and(withReason), userActs.closeSessions),
  send(peopleForms.revokeToken, support.and(withReason), userActs.revokeToken),
  send(peopleForms.revokeApplication, support.and(withReason), userActs.revokeApplication),
  send(peopleForms.resetFactors, support.and(withReason), userActs.resetFactors),
  send(peopleForms.liftThrottle, support, userActs.liftThrottle),
]

export const pageRoutes: readonly PageRoute[] = tableOf([
  ...onBothSites([...signInRows, ...accountRows, ...portalRows]),
  ...inSandboxAlone([...sandboxSignInRows, ...sandboxRows]),
  // On the live site alone.
  ...passwordRows,
  ...personRows,
  ...partnerRows,
  ...consoleRows,
  ...administrationRows,
])
