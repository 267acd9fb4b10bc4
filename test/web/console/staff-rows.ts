import type { StaffRole } from '../../../src/users/staff-role.ts'
import { openAdminProgram } from '../../support/administration.ts'
import { proposeApproval } from '../../support/console.ts'
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
    const proposer = by === 'self' ? who : await house.makeOperator('Mary Maker')
    return { address: `/console/proposals/${await proposeApproval(house, proposer)}${verb}` }
  }

/** What somebody types into the form. */
export const newStaff = (username = makeUpWord().toLowerCase()) => ({
  ...{ username, name: 'Nora New', email: `${username}@example.com`, role: 'viewer' },
})

export const newCredential = (person: string) => ({
  ...{ name: 'pipeline', person, role: 'viewer', environment: 'live', readers: '', days: '30' },
})

export const staffRows: ConsoleRows = {
  pages: {
    '/console/proposals': async () => ({ address: '/console/proposals' }),
    '/console/proposals/:id': proposed(''),
    '/console/credentials': async () => ({ address: '/console/credentials' }),
    '/console/staff': async () => ({ address: '/console/staff' }),
    '/console/staff/new': async () => ({ address: '/console/staff/new' }),
    '/console/staff/:id': onStaff('', ['viewer']),
  },
  forms: {
    '/console/proposals/:id/approve': proposed('/approve'),
    '/console/proposals/:id/decline': proposed('/decline'),
    '/console/proposals/:id/withdraw': proposed('/withdraw', 'self'),
    '/console/credentials/create': async (_house, who) => ({
      address: '/console/credentials/create',
      fields: { ...newCredential(who.username), once: 'x'.repeat(22) },
    }),
    '/console/credentials/revoke': async (house) => ({
      address: '/console/credentials/revoke',
      fields: { credential: String((await openAdminProgram(house)).credentialId) },
    }),
    '/console/staff/new/create': async () => ({
      address: '/console/staff/new/create',
      fields: { ...newStaff(), once: 'x'.repeat(22) },
    }),
    '/console/staff/:id/give': onStaff('/give', [], { role: 'support' }),
    '/console/staff/:id/take': onStaff('/take', ['support'], { role: 'support' }),
  },
}
