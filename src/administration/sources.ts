/**
 * Which systems of the brokerage say who there is, as they are declared. That one is named, and that a role
 * of the database may speak for it, is proposed. What it said is kept under it: it never ends.
 */
import { Conflict } from '../problem.ts'
import {
  changeSourceRoles,
  checkSource,
  holdSource,
  listSourcesByNames,
  type NamedSource,
} from '../provisioning/source.ts'
import { Type, text } from '../vocabulary/schema.ts'
import type { DeclaredKind } from './kind.ts'

interface SourceSpec {
  readonly roles: readonly string[]
}

export const sources: DeclaredKind<SourceSpec> = {
  kind: 'sources',
  site: 'own',
  sees: 'settings.see',
  manages: 'services.manage',
  specification: Type.Object(
    {
      roles: Type.Optional(
        Type.Array(
          text('A role of the database.', 'crm_system', { pattern: '^[^\\u0000-\\u001f\\u007f]{1,63}$' }),
          {
            description: 'Which may speak for it by provision(); none unless given. More is proposed.',
            maxItems: 100,
          },
        ),
      ),
    },
    { title: 'SourceSpec', description: 'A source as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    {
      heardAt: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        format: 'int64',
        description: 'When it last said something, in epoch milliseconds; null: not yet.',
        examples: [1_767_225_600_000],
      }),
    },
    { title: 'SourceStatus', description: 'What the gateway says of a source.' },
  ),
  fields: { role: 'roles' },
  subjectOf: (id) => `source:${id}`,
  async hold(sql, id) {
    await holdSource(sql, id)
  },
  async read(sql, ids) {
    const found = await listSourcesByNames(sql, ids)
    return new Map(found.map((each) => [each.source, describeSource(each)]))
  },
  tidy: ({ roles }) => (roles ? { roles: [...new Set(roles)].sort() } : {}),
  async make(work, { roles = [] }, { name, owner }) {
    await checkSource(work.sql, name, roles)
    const other = await holdSource(work.sql, name)
    if (other) throw new Conflict(`There is a source "${name}" of the ${other.environment} site already.`)
    await work.propose('source.create', { name, owner, environment: work.environment, roles })
    return undefined
  },
  async change(work, id, before, { roles }) {
    const withdrawn = before.roles.filter((role) => !roles.includes(role))
    if (withdrawn.length > 0) await changeSourceRoles(work.sql, id, { added: [], withdrawn }, work.reasoned())
    const added = roles.filter((role) => !before.roles.includes(role))
    if (added.length === 0) return
    await checkSource(work.sql, id, added)
    await work.propose('source.allow-roles', { name: id, roles })
  },
  async end() {
    throw new Conflict(
      'A source does not end: what it said is kept under it. Take its roles and services away.',
    )
  },
}

function describeSource({ roles, heardAt }: NamedSource) {
  return { spec: { roles }, status: { heardAt: heardAt?.getTime() ?? null } }
}
