/** Clients as they are declared. More than what members may choose by themselves is proposed. */
import { isDeepStrictEqual } from 'node:util'
import { signatureAlgorithms } from '../crypto/jwk.ts'
import { findNames, namePattern } from '../naming/object-name.ts'
import { findCallbackProblem } from '../partners/callback-url.ts'
import {
  type Client,
  declareClient,
  getClient,
  listClientsByIds,
  scopesOfNewClients,
  setClientStatus,
  setScopesRequired,
  setScopesWithin,
  updateClient,
} from '../partners/client.ts'
import { type ClientKey, listKeysOfClients } from '../partners/client-keys.ts'
import { setProfile, termsOf, weakens } from '../partners/client-profile.ts'
import { type ClientSecret, listSecretsOfClients } from '../partners/client-secret.ts'
import { lockClient } from '../partners/clients.sql.ts'
import { type FieldProblem, Invalid } from '../problem.ts'
import { instant, integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { scopes as allScopes, covers, type Scope } from '../vocabulary/scope.ts'
import { changeProofs, describeProofs, type ProofSpec, proofFields, tidyProofs } from './client-proofs.ts'
import { getRequired, refuseOther } from './field-problems.ts'
import type { DeclaredKind, Work } from './kind.ts'
import { getNamedPartner } from './named-partner.ts'

interface ClientSpec extends ProofSpec {
  readonly partner: string
  readonly displayName: string
  readonly callbackUrl: string
  readonly scopes: readonly Scope[]
  readonly scopesAtMost: readonly Scope[]
  readonly scopesRequired: readonly Scope[]
  readonly rotateRefreshTokens: boolean
  readonly profile: 'standard' | 'fapi2'
  /** In epoch milliseconds; null in the standard profile. */
  readonly fapi2From: number | null
  readonly bearers: 'end' | 'live-out'
  readonly demandsDpopNonces: boolean
  readonly state: Client['status']
}

const scopeList = (description: string, least: number) =>
  Type.Optional(
    Type.Array(oneOf(allScopes, { description: 'A scope.' }), {
      description,
      minItems: least,
      uniqueItems: true,
      maxItems: allScopes.length,
    }),
  )

export const clients: DeclaredKind<ClientSpec> = {
  kind: 'clients',
  site: 'own',
  sees: 'partners.see',
  manages: 'partners.manage',
  specification: Type.Object(
    {
      partner: Type.Optional(
        text('The name of its partner; required of a new one. It stays.', 'acme', { pattern: namePattern }),
      ),
      displayName: Type.Optional(
        text('The name that account holders see; required of a new one.', 'Acme Trader', { maxLength: 200 }),
      ),
      callbackUrl: Type.Optional(
        text(
          'Where codes are sent; required of a new one. Another one on the live site is proposed.',
          'https://acme.example/callback',
          {
            maxLength: 2_000,
          },
        ),
      ),
      scopes: scopeList('What it may ask for now; all that it may at most, unless given to a new one.', 1),
      scopesAtMost: scopeList(
        'What its partner may choose from; `read` and `market` of a new one on the live site unless given, all in the sandbox. More than those on the live site is proposed.',
        1,
      ),
      scopesRequired: scopeList(
        'What account holders cannot leave out where it asks for that; none unless given. More on the live site is proposed.',
        0,
      ),
      rotateRefreshTokens: Type.Optional(
        Type.Boolean({ description: 'Whether each refresh gives another refresh token; not unless given.' }),
      ),
      ...proofFields,
      profile: Type.Optional(
        oneOf(['standard', 'fapi2'], {
          description:
            'What is demanded of it; `standard` of a new one unless given. Back to `standard` on the live site is proposed.',
        }),
      ),
      fapi2From: Type.Optional(
        Type.Unsafe<number | null>({
          type: ['integer', 'null'],
          format: 'int64',
          minimum: 0,
          maximum: 8_640_000_000_000_000,
          description:
            'From when on it has FAPI 2.0, in epoch milliseconds: at once unless given. Null in the standard profile.',
          examples: [1_780_000_000_000],
        }),
      ),
      bearers: Type.Optional(
        oneOf(['end', 'live-out'], {
          description:
            'What becomes of its bearer tokens then; they `end` unless given. That they live out their time after all is proposed on the live site.',
        }),
      ),
      demandsDpopNonces: Type.Optional(
        Type.Boolean({
          description:
            'Whether its DPoP proofs must carry a nonce; not unless given. Taking it back on the live site is proposed.',
        }),
      ),
      state: Type.Optional(
        oneOf(['active', 'suspended'], {
          description: '`active` of a new one unless given. That it is active again is proposed.',
        }),
      ),
    },
    { title: 'ClientSpec', description: 'A client as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    {
      clientId: text('Its client id.', 'Zq3J5mXw8LrT2bNc7VfHk4Ps'),
      createdAt: instant('When it was made'),
      secrets: Type.Array(
        Type.Object(
          {
            id: integer('Its number.', 3),
            hint: text('Its last characters.', 'x7Qa'),
            createdAt: instant('When it was made'),
            signsFrom: instant('From when on it signs webhooks'),
            expiresAt: Type.Unsafe<number | null>({
              type: ['integer', 'null'],
              format: 'int64',
              description: 'When it ends, in epoch milliseconds; null: when it is revoked.',
              examples: [null],
            }),
          },
          { title: 'ClientSecretHint', description: 'A secret, without the secret.' },
        ),
        { description: 'Those that live, two at most.' },
      ),
      keys: Type.Array(
        Type.Object(
          {
            thumbprint: text('RFC 7638.', 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'),
            algorithm: oneOf(signatureAlgorithms, { description: 'What it signs by.' }),
            addedAt: instant('When it was added'),
          },
          { title: 'ClientKey', description: 'A public key.' },
        ),
        { description: 'Its public keys, ten at most.' },
      ),
    },
    { title: 'ClientStatus', description: 'What the gateway says of a client.' },
  ),
  fields: {
    name: 'displayName',
    callback: 'callbackUrl',
    scope: 'scopes',
    required: 'scopesRequired',
    from: 'fapi2From',
  },
  subjectOf: (id) => `client:${id}`,
  async hold(sql, id) {
    await sql.query(lockClient, { id })
  },
  async read(sql, ids, now) {
    const found = await listClientsByIds(sql, ids)
    const partners = await findNames(
      sql,
      'partners',
      found.map(({ branchId }) => String(branchId)),
    )
    const keys = Map.groupBy(await listKeysOfClients(sql, ids), ({ clientId }) => clientId)
    const secrets = Map.groupBy(await listSecretsOfClients(sql, ids, now), ({ clientId }) => clientId)
    return new Map(
      found.map((each) => [
        each.id,
        describeClient(each, partners.get(String(each.branchId)) ?? '', {
          secrets: secrets.get(each.id) ?? [],
          keys: keys.get(each.id) ?? [],
        }),
      ]),
    )
  },
  tidy(spec) {
    const { scopes, scopesAtMost, scopesRequired } = spec
    return {
      ...tidyProfile(spec),
      ...(spec.displayName !== undefined && { displayName: spec.displayName.trim() }),
      ...tidyProofs(spec),
      ...(scopes && { scopes: inOrder(scopes) }),
      ...(scopesAtMost && { scopesAtMost: inOrder(scopesAtMost) }),
      ...(scopesRequired && { scopesRequired: inOrder(scopesRequired) }),
    }
  },
  async make(work, wanted) {
    const { sql, environment, isDevelopment: development, act } = work
    const {
      partner: partnerName,
      displayName,
      callbackUrl,
    } = getRequired(wanted, ['partner', 'displayName', 'callbackUrl'])
    const partner = await getNamedPartner(work, partnerName)
    await work.refuseOwn(partner.branchId)
    const scopesAtMost = wanted.scopesAtMost ?? scopesOfNewClients[environment]
    const target: ClientSpec = {
      ...{ partner: partnerName, displayName, callbackUrl, scopesAtMost },
      scopes: wanted.scopes ?? scopesAtMost,
      scopesRequired: wanted.scopesRequired ?? [],
      rotateRefreshTokens: wanted.rotateRefreshTokens ?? false,
      certificateSubject: wanted.certificateSubject ?? '',
      jwksUri: wanted.jwksUri ?? '',
      jwks: wanted.jwks ?? null,
      profile: wanted.profile ?? 'standard',
      fapi2From: wanted.fapi2From ?? null,
      bearers: wanted.bearers ?? 'end',
      demandsDpopNonces: wanted.demandsDpopNonces ?? false,
      state: 'active',
    }
    checkScopes(target)
    const atMost = firstOf(meet(scopesAtMost, scopesOfNewClients[environment]), least)
    const client = await declareClient(
      sql,
      partner,
      environment,
      {
        ...{ name: displayName, callbackUrl, atMost, rotateRefreshTokens: target.rotateRefreshTokens },
        scope: firstOf(meet(target.scopes, atMost), atMost).join(' '),
      },
      { ...act, development },
    )
    await changeScopes(work, client, target)
    await changeProofs(work, client, target)
    await changeProfile(work, client.id, target)
    if (wanted.state === 'suspended') await setClientStatus(sql, client, 'suspended', act)
    return client.id
  },
  async change(work, id, before, wanted) {
    refuseOther('partner', before, wanted)
    checkScopes(wanted)
    const client = await getClient(work.sql, id)
    await changeClient(work, client, before, wanted)
  },
  async end(work, id, before) {
    await changeClient(work, await getClient(work.sql, id), before, { ...before, state: 'suspended' })
  },
}

/** Of what declares nothing that may be given at once: market data, which is nobody's. */
const least: readonly Scope[] = ['market']

const inOrder = (some: readonly Scope[]) => allScopes.filter((each) => some.includes(each))
const meet = (some: readonly Scope[], others: readonly Scope[]) =>
  some.filter((each) => others.includes(each))
const isSame = (some: readonly Scope[], others: readonly Scope[]) =>
  covers(some, others) && covers(others, some)
const firstOf = (some: readonly Scope[], otherwise: readonly Scope[]) => (some.length > 0 ? some : otherwise)

interface Credentials {
  readonly secrets: readonly ClientSecret[]
  readonly keys: readonly ClientKey[]
}

function describeClient(client: Client, partner: string, { secrets, keys }: Credentials) {
  const { id, name: displayName, callbackUrl, rotateRefreshTokens, status: state, createdAt } = client
  return {
    spec: {
      ...{ partner, displayName, callbackUrl },
      scopes: inOrder(client.scopes),
      scopesAtMost: inOrder(client.scopesAtMost),
      scopesRequired: inOrder(client.scopesRequired),
      ...{
        rotateRefreshTokens,
        ...describeProofs(client, keys),
        state,
        ...describeProfile(client),
      },
    },
    status: {
      clientId: id,
      createdAt: createdAt.getTime(),
      secrets: secrets.map((each) => ({
        ...{ id: each.id, hint: each.hint, createdAt: each.createdAt.getTime() },
        signsFrom: each.signsFrom.getTime(),
        expiresAt: each.expiresAt?.getTime() ?? null,
      })),
      keys: keys.map(({ thumbprint, algorithm, addedAt }) => ({
        ...{ thumbprint, algorithm, addedAt: addedAt.getTime() },
      })),
    },
  }
}

function checkScopes({ scopes, scopesAtMost, scopesRequired }: ClientSpec): void {
  const beyond = (field: string, some: readonly Scope[]): FieldProblem[] =>
    covers(scopesAtMost, some)
      ? []
      : [{ field, problem: `may name ${scopesAtMost.join(', ')}, which are its scopesAtMost` }]
  const problems = [...beyond('scopes', scopes), ...beyond('scopesRequired', scopesRequired)]
  if (problems.length > 0) throw new Invalid(problems)
}

async function changeClient(
  work: Work,
  client: Client,
  before: ClientSpec,
  wanted: ClientSpec,
): Promise<void> {
  const { sql, act, environment, isDevelopment: development } = work
  await work.refuseOwn(client.branchId)
  const { displayName, callbackUrl, rotateRefreshTokens } = wanted
  const isElsewhere = callbackUrl !== before.callbackUrl
  const changes = {
    ...(displayName !== before.displayName && { name: displayName }),
    ...(isElsewhere && environment === 'sandbox' && { callbackUrl }),
    ...(rotateRefreshTokens !== before.rotateRefreshTokens && { rotateRefreshTokens }),
  }
  if (Object.keys(changes).length > 0) await updateClient(sql, client, changes, { ...act, development })
  // Codes of account holders go there.
  if (isElsewhere && environment === 'live') {
    const problem = findCallbackProblem(callbackUrl, { environment, development })
    if (problem) throw new Invalid([{ field: 'callbackUrl', problem }])
    await work.propose('client.redirect', { branchId: client.branchId, clientId: client.id, callbackUrl })
  }
  await changeScopes(work, client, wanted)
  await changeProofs(work, client, wanted)
  await changeProfile(work, client.id, wanted)
  if (wanted.state === before.state) return
  if (wanted.state === 'suspended') await setClientStatus(sql, client, 'suspended', work.reasoned())
  else await work.propose('client.activate', { branchId: client.branchId, clientId: client.id })
}

/** Less, and what members may choose anyway, at once. What is more waits. */
async function changeScopes(work: Work, client: Client, wanted: ClientSpec): Promise<void> {
  const { sql, environment, isDevelopment: development } = work
  const free = environment === 'sandbox' ? allScopes : scopesOfNewClients.live
  const atMost = firstOf(meet(wanted.scopesAtMost, [...client.scopesAtMost, ...free]), client.scopesAtMost)
  const takesAway = !covers(atMost, client.scopesAtMost)
  const chosen = firstOf(meet(wanted.scopes, atMost), meet(client.scopes, atMost))
  const isNarrower = !covers(chosen, client.scopes)
  const act = takesAway || isNarrower ? work.reasoned() : work.act
  const scopes = firstOf(chosen, atMost)
  let now = client
  if (!isSame(atMost, client.scopesAtMost))
    now = await setScopesWithin(sql, client, { atMost, chosen: scopes }, act)
  else if (!isSame(scopes, client.scopes))
    now = await updateClient(sql, client, { scope: scopes.join(' ') }, { ...act, development })
  const required = meet(
    wanted.scopesRequired,
    environment === 'sandbox' ? atMost : meet(now.scopesRequired, atMost),
  )
  if (!isSame(required, now.scopesRequired)) await setScopesRequired(sql, now, required, act)
  if (isSame(atMost, wanted.scopesAtMost) && isSame(required, wanted.scopesRequired)) return
  await work.propose('partner.widen-scopes', {
    ...{ branchId: client.branchId, clientId: client.id, atMost: wanted.scopesAtMost },
    ...{ scopes: wanted.scopes, required: wanted.scopesRequired },
  })
}

type ProfileSpec = Pick<ClientSpec, 'profile' | 'fapi2From' | 'bearers' | 'demandsDpopNonces'>

function describeProfile(client: Client): ProfileSpec {
  const { from, endsBearers, demandsDpopNonces } = termsOf(client)
  return {
    profile: from === null ? 'standard' : 'fapi2',
    fapi2From: from?.getTime() ?? null,
    bearers: endsBearers ? 'end' : 'live-out',
    demandsDpopNonces,
  }
}

/** Either of the two says the other, where that is not given. */
function tidyProfile({ profile, fapi2From, ...spec }: Partial<ClientSpec>): Partial<ClientSpec> {
  if (profile === undefined && fapi2From === undefined) return spec
  const said = profile ?? (fapi2From === null ? 'standard' : 'fapi2')
  if (said === 'standard') return { ...spec, profile: said, fapi2From: fapi2From ?? null }
  return { ...spec, profile: said, ...(typeof fapi2From === 'number' && { fapi2From }) }
}

/** Up at once, and on the live site down by another person. As it is by now: its callback and keys came first. */
async function changeProfile(work: Work, id: string, wanted: ProfileSpec): Promise<void> {
  const { sql, act, environment } = work
  if (wanted.profile === 'standard' && wanted.fapi2From !== null)
    throw new Invalid([{ field: 'fapi2From', problem: 'goes with the profile fapi2' }])
  const client = await getClient(sql, id)
  const from = wanted.fapi2From === null ? act.at : new Date(wanted.fapi2From)
  const terms = {
    from: wanted.profile === 'standard' ? null : from,
    endsBearers: wanted.bearers === 'end',
    demandsDpopNonces: wanted.demandsDpopNonces,
  }
  if (isDeepStrictEqual(terms, termsOf(client))) return
  if (environment === 'sandbox' || !weakens(client, terms, act.at)) await setProfile(sql, client, terms, act)
  else
    await work.propose('client.lower-profile', {
      ...{ branchId: client.branchId, clientId: client.id },
      ...{ ...terms, from: terms.from?.toISOString() ?? null },
    })
}
