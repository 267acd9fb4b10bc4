/**
 * The states of a partner, and on which sites each of them lets it act. The function `may_act` of the
 * database is the same rule for statements.
 */
import type { Environment } from '../vocabulary/environment.ts'

export const partnerStatuses = ['applied', 'approved', 'declined', 'suspended'] as const
export type PartnerStatus = (typeof partnerStatuses)[number]

/** What the brokerage decides. */
export type DecidedStatus = Exclude<PartnerStatus, 'applied'>

const sites: Readonly<Record<PartnerStatus, readonly Environment[]>> = {
  applied: ['sandbox'],
  approved: ['live', 'sandbox'],
  declined: [],
  suspended: [],
}

export function mayAct(status: PartnerStatus, environment: Environment): boolean {
  return sites[status].includes(environment)
}

/**
 * From which states each decision is taken. Only an application can be declined; a declined applicant applies
 * again, or is approved after all.
 */
export const decidedFrom: Readonly<Record<DecidedStatus, readonly PartnerStatus[]>> = {
  approved: ['applied', 'declined', 'suspended'],
  declined: ['applied'],
  suspended: ['applied', 'approved', 'declined'],
}
