import type { StaffRole } from '../../../src/users/staff-role.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'

/** Somebody of the staff with these roles. */
const onStaff = (verb: string, roles: readonly StaffRole[], fields = {}): Aim =>
  async function aim(house) {
    const { id } = await house.makeOperator('Stan Staff', roles)
    return { address: `/console/staff/${id}${verb}`, fields }
  }

export const staffRows: ConsoleRows = {
  pages: {
    '/console/staff': async () => ({ address: '/console/staff' }),
    '/console/staff/:id': onStaff('', ['viewer']),
  },
  forms: {
    '/console/staff/:id/give': onStaff('/give', [], { role: 'support' }),
    '/console/staff/:id/take': onStaff('/take', ['support'], { role: 'support' }),
  },
}
