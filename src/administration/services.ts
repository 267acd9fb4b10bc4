/** The brokerage's own systems as they are declared. That there is one, and that it may more, is proposed. */
import {
  changeReach,
  checkService,
  holdService,
  listServicesByIds,
  reaches,
  revokeService,
  type Service,
} from '../services/service.ts'
import { instant, oneOf, Type, text } from '../vocabulary/schema.ts'
import { sourcePattern } from '../vocabulary/source.ts'
import { type TokenFact, tokenFacts, usualFacts } from '../vocabulary/token-fact.ts'
import { getRequired, refuseOther } from './field-problems.ts'
import type { DeclaredKind } from './kind.ts'

interface ServiceSpec {
  readonly displayName: string
  readonly mayProvision: readonly string[]
  readonly sees: readonly TokenFact[]
  readonly audience: string | null
}

export const services: DeclaredKind<ServiceSpec> = {
  kind: 'services',
  site: 'own',
  sees: 'settings.see',
  manages: 'services.manage',
  specification: Type.Object(
    {
      displayName: Type.Optional(
        text('Which system it is; required of a new one. It stays.', 'Order desk', { maxLength: 200 }),
      ),
      mayProvision: Type.Optional(
        Type.Array(text('The name of a source.', 'core', { pattern: sourcePattern }), {
          description: 'For which sources it may say who there is; none unless given. More is proposed.',
          maxItems: 100,
        }),
      ),
      sees: Type.Optional(
        Type.Array(oneOf(tokenFacts, { description: 'A fact of a token.' }), {
          description: `What introspection tells it of a token; ${usualFacts.join(', ')} unless given. More is proposed.`,
          maxItems: tokenFacts.length,
        }),
      ),
      audience: Type.Optional(
        Type.Unsafe<string | null>({
          type: ['string', 'null'],
          maxLength: 200,
          description:
            'What it protects, by the name that clients ask for (RFC 8707); null: it takes every token. Another one is proposed.',
          examples: ['https://orders.example.com'],
        }),
      ),
    },
    { title: 'ServiceSpec', description: 'A service as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    {
      serviceId: text('By which it signs in.', 'Zq3J5mXw8LrT2bNc7VfHk4Ps'),
      createdAt: instant('When it was made'),
      secrets: Type.Array(
        Type.Object(
          { hint: text('Its last characters.', 'x7Qa'), createdAt: instant('When it was made') },
          { title: 'ServiceSecretHint', description: 'Its secret, without the secret.' },
        ),
        { description: 'The one that lives, or none.' },
      ),
    },
    { title: 'ServiceStatus', description: 'What the gateway says of a service.' },
  ),
  fields: { name: 'displayName', provision: 'mayProvision' },
  subjectOf: (id) => `service:${id}`,
  async hold(sql, id) {
    await holdService(sql, id)
  },
  async read(sql, ids) {
    const found = await listServicesByIds(sql, ids)
    return new Map(found.map((each) => [each.id, describeService(each)]))
  },
  tidy({ displayName, mayProvision, sees, ...others }) {
    return {
      ...others,
      ...(displayName !== undefined && { displayName: displayName.trim() }),
      ...(mayProvision && { mayProvision: [...new Set(mayProvision)].sort() }),
      ...(sees && { sees: tokenFacts.filter((fact) => sees.includes(fact)) }),
    }
  },
  async make(work, wanted, label) {
    const { displayName } = getRequired(wanted, ['displayName'])
    const { name, ...reach } = await checkService(
      work.sql,
      { ...wanted, name: displayName },
      work.environment,
    )
    await work.propose('service.create', {
      ...label,
      ...{ environment: work.environment, displayName: name, ...reach },
    })
    return undefined
  },
  async change(work, id, before, wanted) {
    refuseOther('displayName', before, wanted)
    await checkService(work.sql, { ...wanted, name: wanted.displayName }, work.environment)
    const now = narrow(before, wanted)
    if (!reaches(now, before)) await changeReach(work.sql, id, now, work.reasoned())
    const { mayProvision, sees, audience } = wanted
    if (!reaches(now, wanted))
      await work.propose('service.widen', { serviceId: id, mayProvision, sees, audience })
  },
  async end(work, id) {
    await revokeService(work.sql, id, work.reasoned())
  },
}

function describeService({ id, name, mayProvision, sees, audience, createdAt, hint, secretAt }: Service) {
  return {
    spec: { displayName: name, mayProvision, sees, audience },
    status: {
      ...{ serviceId: id, createdAt: createdAt.getTime() },
      secrets: hint === null || !secretAt ? [] : [{ hint, createdAt: secretAt.getTime() }],
    },
  }
}

/** What of it may be done at once: nothing more than before. */
function narrow(before: ServiceSpec, wanted: ServiceSpec): ServiceSpec {
  return {
    displayName: before.displayName,
    mayProvision: before.mayProvision.filter((source) => wanted.mayProvision.includes(source)),
    sees: before.sees.filter((fact) => wanted.sees.includes(fact)),
    audience: before.audience ?? wanted.audience,
  }
}
