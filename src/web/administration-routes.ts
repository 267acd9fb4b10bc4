/**
 * The part of the pages' table in which a brokerage joins what it has: what its systems import, where its
 * people sign in, who of them may do what, and what takes two.
 */
import * as alertForms from './console/alerts/forms.ts'
import * as credentialForms from './console/credentials/forms.ts'
import * as importForms from './console/imports/forms.ts'
import * as peopleForms from './console/people/forms.ts'
import * as proposalForms from './console/proposals/forms.ts'
import * as providerForms from './console/providers/forms.ts'
import { staff, strongly, withReason } from './gates/gates.ts'
import { page, type Row, send, whenVisited } from './route.ts'

const alerts = whenVisited(() => import('./console/alerts/alerts.ts'))
const credentials = whenVisited(() => import('./console/credentials/credentials.ts'))
const imports = whenVisited(() => import('./console/imports/imports.ts'))
const upload = whenVisited(() => import('./console/imports/upload.ts'))
const importPages = whenVisited(() => import('./console/imports/import.ts'))
const proposals = whenVisited(() => import('./console/proposals/proposals.ts'))
const providers = whenVisited(() => import('./console/providers/providers.ts'))
const newProvider = whenVisited(() => import('./console/providers/new-provider.ts'))
const newStaff = whenVisited(() => import('./console/people/new-staff.ts'))
const staffPages = whenVisited(() => import('./console/people/staff.ts'))

const alertKeeper = staff('webhooks.operate').and(strongly)
const importKeeper = staff('imports.manage').and(strongly).and(withReason)
const decider = staff('proposals.decide').and(strongly)
const providerKeeper = staff('providers.manage').and(strongly)
const roleGiver = staff('staff.manage').and(strongly).and(withReason)

export const administrationRows: readonly Row[] = [
  page('/console/alerts', staff('webhooks.see'), alerts.showAlerts),
  send(alertForms.add, alertKeeper, alerts.add),
  send(alertForms.confirm, alertKeeper, alerts.confirm),
  send(alertForms.sendCode, alertKeeper, alerts.sendCode),
  send(alertForms.change, alertKeeper, alerts.change),
  send(alertForms.test, alertKeeper, alerts.test),
  send(alertForms.remove, alertKeeper.and(withReason), alerts.remove),
  page('/console/imports', staff('imports.manage'), imports.showImports),
  page('/console/imports/new', staff('imports.manage'), upload.showUpload),
  send(importForms.uploadFile, importKeeper, upload.uploadFile),
  page('/console/imports/:id', staff('imports.manage'), importPages.showImport),
  page('/console/imports/:id/faults', staff('imports.manage'), importPages.exportFaults),
  send(importForms.removeMissing, importKeeper, importPages.removeMissing),
  send(importForms.stopImport, importKeeper, importPages.stop),
  page('/console/proposals', staff('overview.see'), proposals.showProposals),
  page('/console/proposals/:id', staff('overview.see'), proposals.showProposal),
  send(proposalForms.approveProposal, decider, proposals.approveProposal),
  send(proposalForms.declineProposal, decider.and(withReason), proposals.declineProposal),
  send(proposalForms.withdrawProposal, decider.and(withReason), proposals.withdraw),
  page('/console/providers', staff('providers.manage'), providers.showProviders),
  page('/console/providers/new', staff('providers.manage'), newProvider.showNewProvider),
  send(providerForms.createProvider, providerKeeper, newProvider.createProvider),
  page('/console/providers/:provider', staff('providers.manage'), providers.showProvider),
  page('/console/providers/:provider/test', staff('providers.manage'), providers.testNow),
  send(providerForms.enableProvider, providerKeeper, providers.enable),
  send(providerForms.changeProvider, providerKeeper, providers.change),
  send(providerForms.replaceCredential, providerKeeper, providers.giveCredential),
  send(providerForms.removeProvider, providerKeeper.and(withReason), providers.remove),
  page('/console/credentials', staff('staff.see'), credentials.showCredentials),
  send(credentialForms.createCredential, roleGiver, credentials.createCredential),
  send(credentialForms.revokeCredential, roleGiver, credentials.revokeCredential),
  page('/console/staff', staff('staff.see'), staffPages.showStaff),
  page('/console/staff/new', staff('staff.manage'), newStaff.showNewStaff),
  send(peopleForms.createStaff, roleGiver, newStaff.createNewStaff),
  page('/console/staff/:id', staff('staff.see'), staffPages.showRoles),
  send(peopleForms.giveRole, roleGiver, staffPages.giveRole),
  send(peopleForms.takeRole, roleGiver, staffPages.takeRole),
]
