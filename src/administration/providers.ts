/**
 * Identity providers as they are declared. One begins as a draft, which lets nobody in. That it is enabled,
 * and what is believed of one that is, is proposed. Its credential is no field.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  declareProvider,
  factsOf,
  findProviderById,
  holdProvider,
  listProvidersByIds,
  type Provider,
  type ProviderFacts,
  removeProvider,
} from '../identity/provider.ts'
import { changed, changeProvider } from '../identity/provider-change.ts'
import { logoutReaches, providerKinds, providerProofs } from '../identity/provider-draft.ts'
import { Conflict } from '../problem.ts'
import { instant, integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { getRequired, refuseOther } from './field-problems.ts'
import type { DeclaredKind, Work } from './kind.ts'

interface ProviderSpec
  extends Pick<
      ProviderFacts,
      'label' | 'issuer' | 'clientId' | 'proof' | 'scopes' | 'linkClaim' | 'linkSource'
    >,
    Pick<ProviderFacts, 'strongAcr' | 'strongAmr' | 'ownSecondStep' | 'logoutEnds'> {
  readonly type: ProviderFacts['kind']
  readonly enabled: boolean
}

const words = (description: string, example: string) =>
  Type.Optional(
    Type.Array(text('A word.', example, { pattern: '^[!-~]{1,200}$' }), { description, maxItems: 50 }),
  )

export const providers: DeclaredKind<ProviderSpec> = {
  kind: 'providers',
  site: 'both',
  sees: 'providers.manage',
  manages: 'providers.manage',
  specification: Type.Object(
    {
      type: Type.Optional(
        oneOf(providerKinds, { description: 'Whose it is; required of a new one. It stays.' }),
      ),
      label: Type.Optional(
        text('What people read; required of a new one.', 'Example Bank', { maxLength: 200 }),
      ),
      issuer: Type.Optional(
        text('Its issuer; required of a new one. It stays.', 'https://login.example.com', {
          pattern: '^[!-~]{1,500}$',
        }),
      ),
      clientId: Type.Optional(
        text('The id that it gave to this gateway; required of a new one.', 'countersign', {
          maxLength: 500,
        }),
      ),
      proof: Type.Optional(
        oneOf(providerProofs, {
          description: 'How the gateway shows it who it is; `client_secret_basic` unless given. It stays.',
        }),
      ),
      scopes: words('What it is asked for, `openid` among them; that alone unless given.', 'openid'),
      linkClaim: Type.Optional(
        Type.Unsafe<string | null>({
          type: ['string', 'null'],
          maxLength: 100,
          description: 'The claim that equals a customer’s external id; null: only who is linked gets in.',
          examples: ['customer_id'],
        }),
      ),
      linkSource: Type.Optional(
        text('The source whose external ids those are; `core` unless given.', 'core', { maxLength: 30 }),
      ),
      strongAcr: words(
        'What it calls a sign-in with a second factor; none unless given.',
        'urn:example:loa:2',
      ),
      strongAmr: words('The same, by the methods that it names; none unless given.', 'mfa'),
      ownSecondStep: Type.Optional(
        Type.Boolean({
          description: 'Whether a second step of this gateway stands in; it does unless given.',
        }),
      ),
      logoutEnds: Type.Optional(
        oneOf(logoutReaches, { description: 'What a logout token ends; `session` unless given.' }),
      ),
      enabled: Type.Optional(
        Type.Boolean({
          description:
            'Whether people sign in there. That they do is proposed, as soon as it has its credential. One that is enabled is removed, not disabled.',
        }),
      ),
    },
    { title: 'ProviderSpec', description: 'A provider as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    {
      providerId: integer('Its number.', 3, { minimum: 1 }),
      createdAt: instant('When it was written down'),
      hasCredential: Type.Boolean({ description: 'Whether it was given one.' }),
      credentialAt: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        format: 'int64',
        description: 'Since when it is asked with the one that it has, in epoch milliseconds.',
        examples: [1_767_225_600_000],
      }),
      awaySince: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        format: 'int64',
        description: 'Since when it has not answered, in epoch milliseconds; null: it answers.',
        examples: [null],
      }),
    },
    { title: 'ProviderStatus', description: 'What the gateway says of a provider.' },
  ),
  fields: {
    ...{ kind: 'type', 'client-id': 'clientId', 'link-claim': 'linkClaim', 'link-source': 'linkSource' },
    ...{ 'strong-acr': 'strongAcr', 'strong-amr': 'strongAmr' },
  },
  subjectOf: (_id, name) => `provider:${name}`,
  async hold(sql, id) {
    await holdProvider(sql, Number(id))
  },
  async read(sql, ids) {
    const found = await listProvidersByIds(sql, ids.map(Number))
    return new Map(found.map((each) => [String(each.id), describeProvider(each)]))
  },
  tidy: (spec) => (spec.label === undefined ? spec : { ...spec, label: spec.label.trim() }),
  async make(work, wanted, { name }) {
    const required = getRequired(wanted, ['type', 'label', 'issuer', 'clientId'])
    const spec: ProviderSpec = { ...usual, ...wanted, ...required }
    const facts = { ...factsIn(spec), rolesClaim: null, roleMap: {}, name }
    const made = await declareProvider(work.sql, facts, { allowLoopback: work.isDevelopment }, work.act)
    if (spec.enabled) work.wait()
    return String(made.id)
  },
  async change(work, id, before, wanted) {
    for (const field of ['type', 'issuer', 'proof'] as const) refuseOther(field, before, wanted)
    if (before.enabled && !wanted.enabled)
      throw new Conflict('A provider that is enabled is not disabled again: DELETE removes it.')
    const provider = await findProviderById(work.sql, Number(id))
    if (!provider) throw new Error(`There is no provider ${id}.`)
    const after = changed(provider, factsIn(wanted))
    if (provider.enabledAt) return changeEnabled(work, provider, after)
    if (!isDeepStrictEqual(after, factsOf(provider)))
      await changeProvider(work.sql, provider.id, after, work.act)
    if (!wanted.enabled) return
    if (provider.hasCredential) await work.propose('provider.add', { providerId: provider.id, ...after })
    else work.wait()
  },
  async end(work, id) {
    const provider = await findProviderById(work.sql, Number(id))
    if (provider) await removeProvider(work.sql, provider, work.reasoned())
  },
}

const usual: Omit<ProviderSpec, 'type' | 'label' | 'issuer' | 'clientId'> = {
  ...{ proof: 'client_secret_basic', scopes: ['openid'], linkClaim: null, linkSource: 'core' },
  ...{ strongAcr: [], strongAmr: [], ownSecondStep: true, logoutEnds: 'session', enabled: false },
}

function factsIn({ type: kind, enabled: _, ...facts }: ProviderSpec) {
  return { kind, ...facts }
}

/** What nobody is let in by, at once. The rest waits. */
async function changeEnabled(
  { sql, act, propose }: Work,
  provider: Provider,
  after: ProviderFacts,
): Promise<void> {
  const { label, scopes, logoutEnds } = after
  const now = { ...factsOf(provider), label, scopes, logoutEnds }
  if (!isDeepStrictEqual(now, factsOf(provider))) await changeProvider(sql, provider.id, now, act)
  if (!isDeepStrictEqual(now, after)) await propose('provider.add', { providerId: provider.id, ...after })
}

function describeProvider(provider: Provider) {
  const { kind: type, label, issuer, clientId, proof, scopes, linkClaim, linkSource } = provider
  const { strongAcr, strongAmr, ownSecondStep, logoutEnds, enabledAt, hasCredential } = provider
  return {
    spec: {
      ...{ type, label, issuer, clientId, proof, scopes, linkClaim, linkSource },
      ...{ strongAcr, strongAmr, ownSecondStep, logoutEnds, enabled: enabledAt !== null },
    },
    status: {
      ...{ providerId: provider.id, createdAt: provider.createdAt.getTime(), hasCredential },
      credentialAt: hasCredential ? provider.credentialAt.getTime() : null,
      awaySince: provider.awaySince?.getTime() ?? null,
    },
  }
}
