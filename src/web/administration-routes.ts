/**
 * The part of the pages' table in which a brokerage joins what it has: what its systems import, where its
 * people sign in, who of them may do what, and what takes two.
 */
import { staff, strongly, withReason } from './gates/gates.ts'
import { form, makes, page, type Row, whenVisited } from './route.ts'

const imports = whenVisited(() => import('./console/imports/imports.ts'))
const importPages = whenVisited(() => import('./console/imports/import.ts'))
const proposals = whenVisited(() => import('./console/proposals/proposals.ts'))
const providers = whenVisited(() => import('./console/providers/providers.ts'))
const newProvider = whenVisited(() => import('./console/providers/new-provider.ts'))
const staffPages = whenVisited(() => import('./console/people/staff.ts'))

const importKeeper = staff('imports.manage').and(strongly).and(withReason)
const decider = staff('proposals.decide').and(strongly)
const providerKeeper = staff('providers.manage').and(strongly)
const roleGiver = staff('staff.manage').and(strongly).and(withReason)

export const administrationRows: readonly Row[] = [
  page('/console/imports', staff('imports.manage'), imports.showImports),
  page('/console/imports/:id', staff('imports.manage'), importPages.showImport),
  page('/console/imports/:id/faults', staff('imports.manage'), importPages.exportFaults),
  form('/console/imports/:id/remove', importKeeper, importPages.removeMissing),
  form('/console/imports/:id/stop', importKeeper, importPages.stop),
  page('/console/proposals', staff('overview.see'), proposals.showProposals),
  page('/console/proposals/:id', staff('overview.see'), proposals.showProposal),
  form('/console/proposals/:id/approve', decider, proposals.approveProposal),
  form('/console/proposals/:id/decline', decider.and(withReason), proposals.declineProposal),
  form('/console/proposals/:id/withdraw', decider.and(withReason), proposals.withdraw),
  page('/console/providers', staff('providers.manage'), providers.showProviders),
  page('/console/providers/new', staff('providers.manage'), newProvider.showNewProvider),
  makes(form('/console/providers/new/create', providerKeeper, newProvider.createProvider)),
  page('/console/providers/:provider', staff('providers.manage'), providers.showProvider),
  page('/console/providers/:provider/test', staff('providers.manage'), providers.testNow),
  form('/console/providers/:provider/enable', providerKeeper, providers.enable),
  form('/console/providers/:provider/change', providerKeeper, providers.change),
  form('/console/providers/:provider/credential', providerKeeper, providers.giveCredential),
  form('/console/providers/:provider/remove', providerKeeper.and(withReason), providers.remove),
  page('/console/staff', staff('staff.see'), staffPages.showStaff),
  page('/console/staff/:id', staff('staff.see'), staffPages.showRoles),
  form('/console/staff/:id/give', roleGiver, staffPages.giveRole),
  form('/console/staff/:id/take', roleGiver, staffPages.takeRole),
]
