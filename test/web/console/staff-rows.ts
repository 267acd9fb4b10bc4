import { applyAsPartner } from '../../../src/partners/partner.ts'
import { carryOut } from '../../../src/proposals/proposal.ts'
import type { StaffRole } from '../../../src/users/staff-role.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import { makeUpWord } from '../../support/made-up-word.ts'

/** Somebody of the staff with these roles. */
const onStaff = (verb: string, roles: readonly StaffRole[], fields = {}): Aim =>
  async function aim(house) {
    const { id } = await house.makeOperator('Stan Staff', roles)
    return { address: `/console/staff/${id}${verb}`, fields }
  }

/** What waits for a second person, proposed by a colleague or by whoever looks. */
const proposed = (verb: string, by: 'colleague' | 'self' = 'colleague'): Aim =>
  async function aim(house, who) {
    const { db } = house.gateway.context
    const proposer = by === 'self' ? who : await house.makeOperator('Mary Maker')
    const { branchId } = await applyAsPartner(db, `Applicant ${makeUpWord()}`, house.act())
    const act = { by: { name: `user:${proposer.id}` }, at: house.clock.now(), reason: 'Ticket 4711.' }
    const fourEyes = ['partner.approve'] as const
    const made = await carryOut({ db, fourEyes }, 'partner.approve', { branchId, seen: 'applied' }, act)
    return { address: `/console/proposals/${made.kind === 'proposed' && made.id}${verb}` }
  }

export const staffRows: ConsoleRows = {
  pages: {
    '/console/proposals': async () => ({ address: '/console/proposals' }),
    '/console/proposals/:id': proposed(''),
    '/console/staff': async () => ({ address: '/console/staff' }),
    '/console/staff/:id': onStaff('', ['viewer']),
  },
  forms: {
    '/console/proposals/:id/approve': proposed('/approve'),
    '/console/proposals/:id/decline': proposed('/decline'),
    '/console/proposals/:id/withdraw': proposed('/withdraw', 'self'),
    '/console/staff/:id/give': onStaff('/give', [], { role: 'support' }),
    '/console/staff/:id/take': onStaff('/take', ['support'], { role: 'support' }),
  },
}
