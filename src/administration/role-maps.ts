/**
 * Which groups of a staff provider have which role. Each such provider has one map, of its name; more roles
 * are proposed, and those that are taken are taken at once.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  factsOf,
  findProviderById,
  holdProvider,
  listProvidersByIds,
  type Provider,
} from '../identity/provider.ts'
import { changed, changeProvider, isNarrower } from '../identity/provider-change.ts'
import { Invalid } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import { type StaffRole, staffRoles } from '../vocabulary/permission.ts'
import { oneOf, Type } from '../vocabulary/schema.ts'
import type { DeclaredKind, Work } from './kind.ts'

interface RoleMapSpec {
  readonly rolesClaim: string | null
  readonly roles: Readonly<Record<string, StaffRole>>
}

export const roleMaps: DeclaredKind<RoleMapSpec> = {
  kind: 'role-maps',
  site: 'both',
  sees: 'providers.manage',
  manages: 'providers.manage',
  specification: Type.Object(
    {
      rolesClaim: Type.Optional(
        Type.Unsafe<string | null>({
          type: ['string', 'null'],
          pattern: '^[!-~]{1,100}$',
          description: 'The claim that names groups; null: no roles come from there.',
          examples: ['groups'],
        }),
      ),
      roles: Type.Optional(
        Type.Unsafe<Readonly<Record<string, StaffRole>>>({
          title: 'MappedRoles',
          type: 'object',
          maxProperties: 200,
          additionalProperties: oneOf(staffRoles, { description: 'A role of the staff.' }),
          description: 'The role of each group. More is proposed.',
          examples: [{ 'broker-support': 'support' }],
        }),
      ),
    },
    { title: 'RoleMapSpec', description: 'A role map as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    { enabled: Type.Boolean({ description: 'Whether people sign in at the provider.' }) },
    { title: 'RoleMapStatus', description: 'What the gateway says of a role map.' },
  ),
  fields: { 'roles-claim': 'rolesClaim', role: 'roles' },
  subjectOf: (_id, name) => `provider:${name}`,
  async hold(sql, id) {
    await holdProvider(sql, Number(id))
  },
  async read(sql, ids) {
    const found = await listProvidersByIds(sql, ids.map(Number))
    return new Map(found.map((each) => [String(each.id), describeMap(each)]))
  },
  async make(_work, _wanted, { name }) {
    const problem = `is no provider of staff: declare "${name}" among the providers first`
    throw new Invalid([{ field: 'name', problem }])
  },
  async change(work, id, before, wanted) {
    const isOff = wanted.rolesClaim === null
    const strange = Object.keys(wanted.roles).some((group) => findNameProblem(group, 200) !== undefined)
    if (strange)
      throw new Invalid([
        { field: 'roles', problem: 'must name groups in one line of 200 characters at most' },
      ])
    const kept = Object.entries(before.roles).filter(([group, role]) => wanted.roles[group] === role)
    const now = isOff ? none : { rolesClaim: before.rolesClaim, roles: Object.fromEntries(kept) }
    if (isOff && Object.keys(wanted.roles).length > 0)
      throw new Invalid([{ field: 'roles', problem: 'must be empty where no claim names groups' }])
    await changeMap(work, id, now, wanted)
  },
  end: (work, id) => changeMap(work, id, none, none),
}

const none: RoleMapSpec = { rolesClaim: null, roles: {} }

function describeMap({ rolesClaim, roleMap, enabledAt }: Provider) {
  return { spec: { rolesClaim, roles: roleMap }, status: { enabled: enabledAt !== null } }
}

/** At once what gives nobody more; of a draft, which lets nobody in, all of it. */
async function changeMap(work: Work, id: string, now: RoleMapSpec, wanted: RoleMapSpec): Promise<void> {
  const provider = await findProviderById(work.sql, Number(id))
  if (!provider) throw new Error(`There is no provider ${id}.`)
  const withMap = ({ rolesClaim, roles: roleMap }: RoleMapSpec) => changed(provider, { rolesClaim, roleMap })
  const [before, after] = [factsOf(provider), withMap(wanted)]
  const atOnce = provider.enabledAt ? withMap(now) : after
  if (!isDeepStrictEqual(atOnce, before)) {
    const act = isNarrower(atOnce, before) ? work.act : work.reasoned()
    await changeProvider(work.sql, provider.id, atOnce, act)
  }
  if (!isDeepStrictEqual(atOnce, after))
    await work.propose('provider.add', { providerId: provider.id, ...after })
}
