/** The roles of the staff, which are fixed: they are looked at, and written nowhere. */
import { printEtag } from '../../administration/etag.ts'
import { NotFound } from '../../problem.ts'
import {
  findStaffRole,
  permissions,
  permissionsOf,
  type StaffRole,
  staffRoles,
} from '../../vocabulary/permission.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import { staffRoleWords } from '../../vocabulary/staff-role-words.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { describeItem, type NameOnly, NameParams } from './declared.ts'
import { administration, nextPage } from './frame.ts'

const Item = describeItem(
  {
    specification: Type.Object(
      {
        permissions: Type.Array(oneOf(permissions, { description: 'A permission.' }), {
          description: 'What it may do.',
        }),
      },
      { title: 'RoleSpec', description: 'What a role may do; it is fixed.' },
    ),
    status: Type.Object(
      { title: text('What people call it.', 'Support') },
      { title: 'RoleStatus', description: 'What the gateway says of a role.' },
    ),
  },
  'Role',
)

function printRole(role: StaffRole) {
  const spec = { permissions: permissionsOf[role] }
  const status = { title: staffRoleWords[role].title }
  return { kind: 'roles', name: role, owner: null, spec, status, etag: printEtag(spec) }
}

export const listRoles: Endpoint<Administrator> = {
  schema: {
    ...administration,
    operationId: 'listRoles',
    summary: 'List the roles of the staff',
    description: 'By name. They are fixed.',
    response: {
      200: Type.Object(
        { items: Type.Array(Item, { description: 'By name.' }), next: nextPage },
        { title: 'RolePage', description: 'All of them.' },
      ),
    },
  },
  handle: async () => ({ items: [...staffRoles].sort().map(printRole), next: null }),
}

export const fetchRole: Endpoint<Administrator, NameOnly> = {
  schema: {
    ...administration,
    operationId: 'getRole',
    summary: 'Fetch a role of the staff',
    description: 'What it may do.',
    params: NameParams,
    response: { 200: Item },
    answerHeaders: ['ETag'],
  },
  async handle(_context, _caller, request, reply) {
    const role = findStaffRole(request.params.name)
    if (!role) throw new NotFound(`There is no "${request.params.name}" among the roles.`)
    const printed = printRole(role)
    return reply.header('etag', printed.etag).send(printed)
  },
}
