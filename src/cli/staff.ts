/**
 * Who of the staff may do what. An operator on this machine needs no role: it is how a house without an
 * administrator gets one.
 */
import type { Sql } from '../database/database.ts'
import { listEveryProvider } from '../identity/provider.ts'
import { Invalid } from '../problem.ts'
import {
  getStaffMember,
  giveRole,
  listStaff,
  type StaffMember,
  sourceOf,
  takeRole,
} from '../users/staff-role.ts'
import { getUserNamed } from '../users/user.ts'
import { findStaffRole, type StaffRole, staffRoles } from '../vocabulary/permission.ts'
import type { Command, WriteContext } from './command.ts'

export const staffRoleOption = { value: staffRoles.join('|') } as const

export function parseStaffRole(text: string): StaffRole {
  const role = findStaffRole(text)
  if (!role) throw new Invalid([{ field: 'role', problem: `must be one of ${staffRoles.join(', ')}` }])
  return role
}

export const staffCommands: readonly Command[] = [
  {
    name: 'staff list',
    needs: 'reading',
    summary: 'Lists the staff: who has which role, and from where.',
    async run({ db, print }) {
      const named = await nameSources(db)
      print.table(
        (await listStaff(db)).map((each) => printMember(each, named)),
        'There is nobody.',
      )
    },
  },
  roleCommand('give', 'Gives somebody of the staff a role, by hand.', giveRole),
  roleCommand('take', 'Takes a role that was given by hand. The last administrator keeps theirs.', takeRole),
]

function roleCommand(verb: string, summary: string, change: typeof giveRole): Command {
  return {
    name: `staff ${verb}`,
    needs: 'database',
    summary,
    positionals: ['user'],
    options: [
      { name: 'role', ...staffRoleOption, required: true, meaning: 'which one' },
      { name: 'reason', value: 'TEXT', meaning: 'kept in the audit log' },
    ],
    async run({ db, act, print }: WriteContext, words) {
      const { id } = await getUserNamed(db, words.positional('user'))
      const role = parseStaffRole(words.get('role'))
      const reason = words.find('reason')
      await change(db, await getStaffMember(db, id), role, {
        ...act(),
        ...(reason !== undefined && { reason }),
      })
      print.record(printMember(await getStaffMember(db, id), await nameSources(db)))
    },
  }
}

/** Providers are kept by number there, and known by name everywhere else on the command line. */
async function nameSources(sql: Sql): Promise<ReadonlyMap<string, string>> {
  return new Map((await listEveryProvider(sql)).map((each) => [sourceOf(each), `provider:${each.name}`]))
}

function printMember(member: StaffMember, named: ReadonlyMap<string, string>): Record<string, unknown> {
  const { username, name, status, isGuarded, roles } = member
  const held = roles.map(({ role, source }) =>
    source === 'hand' ? role : `${role} (${named.get(source) ?? source})`,
  )
  return { username, name, status, second_factor: isGuarded, roles: held }
}
