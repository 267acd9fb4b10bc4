/**
 * The brokerage's own systems say which customers, accounts and holdings there are: one at a time, at once.
 */
import type { Context } from '../../context.ts'
import { Invalid } from '../../problem.ts'
import { outcomes } from '../../provisioning/outcomes.ts'
import { type Origin, provision } from '../../provisioning/provisioning.ts'
import {
  describeKeys,
  describeRecord,
  describeRemoval,
  findFault,
  type RecordKind,
  type SourceRecord,
} from '../../provisioning/record.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import { defaultSource, sourcePattern } from '../../vocabulary/source.ts'
import type { Endpoint } from '../frame/route.ts'
import { type Provisioner, requireSource } from '../gates/service-gates.ts'

export const sourceParameter = {
  source: Type.Optional(
    text(
      'Which of the brokerage’s systems says so. Unless given, `core` on the live site and `sandbox` on the sandbox.',
      'core',
      {
        pattern: sourcePattern,
      },
    ),
  ),
}

export interface SourceQuery {
  readonly source?: string
}

/** For whom the caller speaks, if it may. */
export function originOf({ environment }: Context, caller: Provisioner, query: SourceQuery): Origin {
  const { source = defaultSource[environment] } = query
  requireSource(caller, source)
  return { source, environment }
}

const ProvisioningOutcome = Type.Object(
  {
    outcome: oneOf(
      outcomes.filter((each) => each !== 'failed'),
      {
        description:
          '`unchanged`: this version has been applied already. `skipped`: a greater version is known. `waiting`: a holding whose customer or account has not come yet; it waits for a day.',
      },
    ),
  },
  { title: 'ProvisioningOutcome', description: 'What came of it.' },
)

const names = { customer: 'Customer', account: 'Account', holding: 'Holding' } as const
const removed = {
  customer: 'They are locked out, and every authorization of theirs ends.',
  account: 'It leaves every authorization; those without an account end.',
  holding: 'The account leaves every authorization of this customer; those without an account end.',
} as const

const shared = (kind: RecordKind) => ({
  tags: ['Internal'] as const,
  security: [{ serviceBasic: [] }],
  params: describeKeys(kind),
  response: { 200: ProvisioningOutcome },
  mayConflict: true as const,
  mayForbid: true as const,
})

/** PUT: this is how it is. */
export function putRecord(
  kind: RecordKind,
): Endpoint<
  Provisioner,
  { Params: Readonly<Record<string, string>>; Querystring: SourceQuery; Body: { readonly version: number } }
> {
  return {
    schema: {
      operationId: `put${names[kind]}`,
      summary: `Create or change a ${kind}`,
      description: `For systems of the brokerage. The whole ${kind}, as the source knows it now. Sent again, or late, it does no harm: the greatest version counts.`,
      ...shared(kind),
      querystring: Type.Object(sourceParameter),
      body: describeRecord(kind),
    },
    handle: (context, caller, request) =>
      apply(context, caller, request.query, {
        ...{ kind, op: 'upsert', ...request.params },
        ...request.body,
      }),
  }
}

/** DELETE: it is gone. */
export function removeRecord(
  kind: RecordKind,
): Endpoint<
  Provisioner,
  { Params: Readonly<Record<string, string>>; Querystring: SourceQuery & { readonly version: number } }
> {
  const { version, changedAt } = describeRemoval()
  return {
    schema: {
      operationId: `remove${names[kind]}`,
      summary: `Remove a ${kind}`,
      description: `For systems of the brokerage. ${removed[kind]} Nothing older brings it back; a greater version does, and what applications could do stays ended.`,
      ...shared(kind),
      querystring: Type.Object({
        ...sourceParameter,
        version,
        changedAt: Type.Optional(changedAt),
      }),
    },
    handle: (context, caller, request) => {
      const { source: _, ...rest } = request.query
      return apply(context, caller, request.query, {
        kind,
        op: 'remove',
        ...request.params,
        ...rest,
      })
    },
  }
}

async function apply(context: Context, caller: Provisioner, query: SourceQuery, record: SourceRecord) {
  const origin = originOf(context, caller, query)
  const fault = findFault(record)
  if (fault) throw new Invalid([fault])
  return { outcome: await provision(context.db, origin, record, caller.act) }
}
