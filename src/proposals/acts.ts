/**
 * What can be proposed: for each kind what the act depends on, and the act itself; src/audit/powers.ts says
 * which roles may decide it. A new kind needs a row here, and a call of `carryOut` where the act was done
 * before: it does it at once, or proposes it where the brokerage wants four eyes.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Act } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { neededToHandOut } from '../identity/handed-out.ts'
import {
  enableProvider,
  factsOf,
  findProviderById,
  holdProvider,
  listProviders,
  type Provider,
  type ProviderFacts,
} from '../identity/provider.ts'
import { changeProvider, findDifferences, isNarrower } from '../identity/provider-change.ts'
import { holdName, nameObject } from '../naming/object-name.ts'
import {
  getClient,
  setClientStatus,
  setScopesAtMost,
  setScopesRequired,
  updateClient,
} from '../partners/client.ts'
import { type ProfileTerms, setProfile, termsOf, weakens } from '../partners/client-profile.ts'
import { lockClient } from '../partners/clients.sql.ts'
import {
  decide,
  findApplication,
  getPartner,
  parseSeen,
  printSeen,
  setRefreshAccess,
} from '../partners/partner.ts'
import { lockPartner } from '../partners/partners.sql.ts'
import { findRefreshRequest } from '../partners/refresh-request.ts'
import { answerScopeRequest, findOpenScopeRequest } from '../partners/scope-request.ts'
import { holdRemoval } from '../provisioning/import-review.ts'
import { allowRemoval } from '../provisioning/snapshot.ts'
import { changeSourceRoles, createSource, holdSource } from '../provisioning/source.ts'
import { changeReach, declareService, holdService, reaches, type ServiceReach } from '../services/service.ts'
import { lockUser } from '../users/api-tokens.sql.ts'
import { findMail } from '../users/email.ts'
import { findSecondFactors, isGuarded, resetSecondFactor } from '../users/second-factor.ts'
import { findNeededOver } from '../users/staff-role.ts'
import { getUserById } from '../users/user.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Permission } from '../vocabulary/permission.ts'
import { covers, type Scope } from '../vocabulary/scope.ts'

/** What it is called where it is declared, and by whom. */
interface Label {
  readonly name: string
  readonly owner: string | null
}

interface SourceRoles {
  readonly roles: readonly string[]
}

/** The exact act, as it is kept. */
export interface ProposedActs {
  readonly 'partner.approve': { readonly branchId: number; readonly seen: string }
  readonly 'partner.refresh-access': { readonly branchId: number }
  readonly 'partner.widen-scopes': {
    readonly branchId: number
    readonly clientId: string
    readonly atMost: readonly Scope[]
    /** Of the partner, which it answers. */
    readonly requestId?: number
    /** What it asks for, and what account holders cannot leave out, where that is said as well. */
    readonly scopes?: readonly Scope[]
    readonly required?: readonly Scope[]
  }
  /** All that is set by it: from when on FAPI 2.0, as a moment in text. */
  readonly 'client.lower-profile': {
    readonly branchId: number
    readonly clientId: string
    readonly from: string | null
    readonly endsBearers: boolean
    readonly demandsDpopNonces: boolean
  }
  readonly 'client.activate': { readonly branchId: number; readonly clientId: string }
  readonly 'client.redirect': {
    readonly branchId: number
    readonly clientId: string
    readonly callbackUrl: string
  }
  readonly 'service.create': Label & {
    readonly environment: Environment
    readonly displayName: string
  } & ServiceReach
  /** With all that it may afterwards. */
  readonly 'service.widen': { readonly serviceId: string } & ServiceReach
  readonly 'source.create': Label & SourceRoles & { readonly environment: Environment }
  /** With all that may speak for it afterwards. */
  readonly 'source.allow-roles': SourceRoles & { readonly name: string }
  readonly 'user.reset-two-factor': { readonly userId: string }
  /** `missing` is how many records go, as the proposer has seen. */
  readonly 'import.removal': { readonly importId: number; readonly missing: number }
  /**
   * One that is written down, or is to be changed, with all that it is set up by afterwards. Its credential
   * stays sealed, where it is.
   */
  readonly 'provider.add': { readonly providerId: number } & ProviderFacts
}

export type WiredKind = keyof ProposedActs

/**
 * What an act depends on. If any of it differs at the decision, nothing is done. The page of the decision
 * prints `shows` and nothing else of what the act is done to: as it was when it was proposed.
 */
export interface ProposedState {
  readonly shows: Readonly<Record<string, string>>
  readonly [more: string]: unknown
}

interface ProposableAct<Values> {
  /** Operators with this permission see what is proposed. */
  readonly sees: Permission
  /** What it takes beside the permission of its kind. */
  alsoNeeds?(sql: Sql, values: Values): Promise<readonly Permission[]>
  /** The partner that it gives something to: no member of it proposes or decides about it. */
  branchOf?(values: Values): number
  /** Whom or what it is done to, as the audit log has it. */
  subjectOf(values: Values): string
  /**
   * What it depends on, held still until the transaction ends; undefined where there is nothing to be done
   * any more.
   */
  readState(sql: Sql, values: Values): Promise<ProposedState | undefined>
  /**
   * Whether it hands out nothing that is not there already: then one person is enough. Asked after the state
   * was read.
   */
  isHarmless?(sql: Sql, values: Values, now: Date): Promise<boolean>
  /**
   * Within the transaction that it is handed. False when nothing was done, because something else has
   * happened meanwhile.
   */
  apply(db: Sql, values: Values, act: Act): Promise<boolean>
}

export const proposableActs: { readonly [Kind in WiredKind]: ProposableAct<ProposedActs[Kind]> } = {
  'partner.approve': {
    sees: 'partners.see',
    branchOf: ({ branchId }) => branchId,
    subjectOf: ({ branchId }) => `branch:${branchId}`,
    async readState(sql, { branchId, seen }) {
      await sql.query(lockPartner, { branchId })
      const partner = await getPartner(sql, String(branchId))
      if (printSeen(partner) !== seen || partner.status === 'approved') return undefined
      const { website, contact, purpose } = (await findApplication(sql, partner)) ?? {}
      return {
        shows: shown({ Partner: partner.name, Website: website, 'E-mail': contact, Purpose: purpose }),
        seen,
      }
    },
    async apply(db, { branchId, seen }, act) {
      const partner = await getPartner(db, String(branchId))
      const parsed = parseSeen(seen)
      if (!parsed) throw new Error(`${seen} is nothing that a proposer has seen.`)
      return decide(db, partner, { status: 'approved', seen: parsed }, act)
    },
  },
  'partner.refresh-access': {
    sees: 'partners.see',
    branchOf: ({ branchId }) => branchId,
    subjectOf: ({ branchId }) => `branch:${branchId}`,
    async readState(sql, { branchId }) {
      await sql.query(lockPartner, { branchId })
      const partner = await getPartner(sql, String(branchId))
      const { refreshAccess, status } = partner
      const newest = await findRefreshRequest(sql, partner)
      const request = newest?.answeredAt === null ? newest : undefined
      if (refreshAccess && !request) return undefined
      const shows = shown({ Partner: partner.name, State: status, 'Asked for': request?.reason })
      return { shows, status, refreshAccess, asked: request?.askedAt ?? null }
    },
    async apply(db, { branchId }, act) {
      await setRefreshAccess(db, await getPartner(db, String(branchId)), true, act)
      return true
    },
  },
  'partner.widen-scopes': {
    sees: 'partners.see',
    branchOf: ({ branchId }) => branchId,
    subjectOf: ({ clientId }) => `client:${clientId}`,
    async readState(sql, { clientId, requestId }) {
      const [held] = await sql.query(lockClient, { id: clientId })
      const request = await findOpenScopeRequest(sql, clientId)
      if (!held || (requestId !== undefined && request?.id !== requestId)) return undefined
      const { name, branchId, environment, callbackUrl, scopesAtMost, scopesRequired, status } =
        await getClient(sql, clientId)
      const partner = await getPartner(sql, String(branchId))
      const shows = shown({
        ...{
          Client: name,
          Partner: partner.name,
          Site: environment,
          State: status,
          'Callback URL': callbackUrl,
        },
        ...{
          'Allowed so far': scopesAtMost.join(' '),
          'Asked for': request?.scopes.join(' '),
          Reason: request?.reason,
        },
      })
      return {
        shows,
        ...{ atMost: scopesAtMost, required: scopesRequired },
        ...{ request: request?.id ?? null, partner: partner.status },
      }
    },
    async isHarmless(sql, { clientId, atMost, requestId, required = [] }) {
      // An answer grants what was asked for, whatever the client was when it was looked at.
      if (requestId !== undefined) return false
      const { scopesAtMost, scopesRequired } = await getClient(sql, clientId)
      return covers(scopesAtMost, atMost) && covers(scopesRequired, required)
    },
    async apply(db, { clientId, atMost, requestId, scopes, required }, act) {
      const client = await getClient(db, clientId)
      if (requestId !== undefined)
        return answerScopeRequest(db, client, { id: requestId, granted: true }, act)
      const widened = await setScopesAtMost(db, client, atMost, act, scopes)
      if (required && !isDeepStrictEqual(widened.scopesRequired, required))
        await setScopesRequired(db, widened, required, act)
      return true
    },
  },
  'client.lower-profile': {
    sees: 'partners.see',
    branchOf: ({ branchId }) => branchId,
    subjectOf: ({ clientId }) => `client:${clientId}`,
    async readState(sql, { clientId, ...wanted }) {
      const [held] = await sql.query(lockClient, { id: clientId })
      if (!held) return undefined
      const client = await getClient(sql, clientId)
      const { name, branchId, environment } = client
      if (isDeepStrictEqual(termsOf(client), readTerms(wanted))) return undefined
      const partner = await getPartner(sql, String(branchId))
      const shows = shown({
        ...{ Client: name, Partner: partner.name, Site: environment },
        ...{ 'Profile so far': sayTerms(termsOf(client)), 'New profile': sayTerms(readTerms(wanted)) },
      })
      return { shows, ...termsOf(client), partner: partner.status }
    },
    async isHarmless(sql, { clientId, ...wanted }, now) {
      const client = await getClient(sql, clientId)
      return client.environment === 'sandbox' || !weakens(client, readTerms(wanted), now)
    },
    async apply(db, { clientId, ...wanted }, act) {
      await setProfile(db, await getClient(db, clientId), readTerms(wanted), act)
      return true
    },
  },
  'client.activate': {
    sees: 'partners.see',
    branchOf: ({ branchId }) => branchId,
    subjectOf: ({ clientId }) => `client:${clientId}`,
    async readState(sql, { clientId }) {
      const [held] = await sql.query(lockClient, { id: clientId })
      if (!held) return undefined
      const { name, branchId, environment, callbackUrl, scopesAtMost, status } = await getClient(
        sql,
        clientId,
      )
      if (status === 'active') return undefined
      const partner = await getPartner(sql, String(branchId))
      const shows = shown({
        ...{ Client: name, Partner: partner.name, Site: environment },
        ...{ 'Callback URL': callbackUrl, 'May ask for': scopesAtMost.join(' ') },
      })
      return { shows, partner: partner.status }
    },
    async apply(db, { clientId }, act) {
      await setClientStatus(db, await getClient(db, clientId), 'active', act)
      return true
    },
  },
  'client.redirect': {
    sees: 'partners.see',
    branchOf: ({ branchId }) => branchId,
    subjectOf: ({ clientId }) => `client:${clientId}`,
    async readState(sql, { clientId, callbackUrl: next }) {
      const [held] = await sql.query(lockClient, { id: clientId })
      if (!held) return undefined
      const { name, branchId, environment, callbackUrl } = await getClient(sql, clientId)
      if (callbackUrl === next) return undefined
      const partner = await getPartner(sql, String(branchId))
      const shows = shown({
        ...{ Client: name, Partner: partner.name, Site: environment },
        ...{ 'Callback URL': callbackUrl, 'New callback URL': next },
      })
      return { shows, callbackUrl, partner: partner.status }
    },
    async apply(db, { clientId, callbackUrl }, act) {
      // Whether it may be an address of this machine was judged where it was proposed.
      const acting = { ...act, development: true }
      await updateClient(db, await getClient(db, clientId), { callbackUrl }, acting)
      return true
    },
  },
  'service.create': {
    sees: 'settings.see',
    subjectOf: ({ environment, name }) => `service:${environment}/${name}`,
    async readState(sql, { environment, name, displayName, ...reach }) {
      if (await holdName(sql, { kind: 'services', site: environment }, name)) return undefined
      return { shows: { Service: displayName, Site: environment, ...showReach(reach) } }
    },
    async apply(db, { environment, name, owner, displayName, ...reach }, act) {
      const { id: objectId } = await declareService(db, { name: displayName, ...reach }, environment, act)
      const naming = { kind: 'services', objectId, name, owner, subject: `service:${objectId}` } as const
      await nameObject(db, naming, act)
      return true
    },
  },
  'service.widen': {
    sees: 'settings.see',
    subjectOf: ({ serviceId }) => `service:${serviceId}`,
    async readState(sql, { serviceId, ...reach }) {
      const service = await holdService(sql, serviceId)
      if (!service) return undefined
      const { name, environment, mayProvision, sees, audience } = service
      const shows = { Service: name, Site: environment, ...showReach(reach) }
      return { shows, mayProvision, sees, audience }
    },
    async isHarmless(sql, { serviceId, ...reach }) {
      const service = await holdService(sql, serviceId)
      return service !== undefined && reaches(service, reach)
    },
    async apply(db, { serviceId, ...reach }, act) {
      await changeReach(db, serviceId, reach, act)
      return true
    },
  },
  'source.create': {
    sees: 'settings.see',
    subjectOf: ({ name }) => `source:${name}`,
    async readState(sql, { name, environment, roles }) {
      await holdName(sql, { kind: 'sources', site: environment }, name)
      if (await holdSource(sql, name)) return undefined
      return {
        shows: { Source: name, Site: environment, 'Roles of the database': roles.join(', ') || 'none' },
      }
    },
    async apply(db, { name, owner, environment, roles }, act) {
      await createSource(db, { source: name, environment }, act)
      await changeSourceRoles(db, name, { added: roles, withdrawn: [] }, act)
      await nameObject(db, { kind: 'sources', objectId: name, name, owner, subject: `source:${name}` }, act)
      return true
    },
  },
  'source.allow-roles': {
    sees: 'settings.see',
    subjectOf: ({ name }) => `source:${name}`,
    async readState(sql, { name, roles }) {
      const source = await holdSource(sql, name)
      if (!source) return undefined
      const shows = { Source: name, Site: source.environment, 'Roles of the database': roles.join(', ') }
      return { shows, roles: source.roles }
    },
    async apply(db, { name, roles }, act) {
      await changeSourceRoles(db, name, { added: roles, withdrawn: [] }, act)
      return true
    },
  },
  'user.reset-two-factor': {
    sees: 'users.see',
    async alsoNeeds(sql, { userId }) {
      return findNeededOver(sql, await getUserById(sql, userId))
    },
    subjectOf: ({ userId }) => `user:${userId}`,
    async readState(sql, { userId }) {
      await sql.query(lockUser, { id: userId })
      const factors = await findSecondFactors(sql, userId)
      if (!isGuarded(factors)) return undefined
      const { name, username } = await getUserById(sql, userId)
      const { totp, passkeys } = factors
      const shows = shown({
        ...{ Person: name, Username: username, 'E-mail': (await findMail(sql, userId))?.email ?? undefined },
        ...{
          App: totp && 'an authenticator app',
          Passkeys: passkeys.map((each) => each.name).join(', ') || undefined,
        },
      })
      return { shows, app: totp?.createdAt ?? null, passkeys: passkeys.map(({ id }) => id) }
    },
    async apply(db, { userId }, act) {
      await resetSecondFactor(db, await getUserById(db, userId), act)
      return true
    },
  },
  'import.removal': {
    sees: 'imports.manage',
    subjectOf: ({ importId }) => `import:${importId}`,
    async readState(sql, { importId, missing }) {
      const removal = await holdRemoval(sql, importId)
      if (removal?.missing !== missing) return undefined
      return {
        shows: { Source: removal.source, Removes: `${missing} of ${removal.known} records` },
        ...removal,
      }
    },
    async apply(db, { importId }, act) {
      await allowRemoval(db, importId, act)
      return true
    },
  },
  'provider.add': {
    sees: 'providers.manage',
    alsoNeeds: async (_sql, values) => neededToHandOut(values),
    subjectOf: ({ name }) => `provider:${name}`,
    async readState(sql, { providerId, ...facts }) {
      const draft = await holdProvider(sql, providerId)
      const isAsSaid = draft && findDifferences(draft, facts).length === 0
      // A draft is enabled as it is; what is enabled is changed into something else.
      if (!draft?.hasCredential || isAsSaid !== (draft.enabledAt === null)) return undefined
      const others = (await listProviders(sql)).filter(({ kind }) => kind === draft.kind)
      // The decider has tested it with one credential, and not with another.
      const { createdAt, credentialAt, enabledAt } = draft
      const beside = others.map(({ id }) => id)
      return {
        shows: showChange(draft, facts),
        ...factsOf(draft),
        createdAt,
        credentialAt,
        enabledAt,
        beside,
      }
    },
    async isHarmless(sql, { providerId, ...facts }) {
      const before = await findProviderById(sql, providerId)
      return before !== undefined && before.enabledAt !== null && isNarrower(before, facts)
    },
    async apply(db, { providerId, ...facts }, act) {
      const provider = await findProviderById(db, providerId)
      if (!provider) throw new Error(`There is no provider ${providerId}.`)
      return provider.enabledAt === null
        ? enableProvider(db, providerId, act)
        : changeProvider(db, providerId, facts, act)
    },
  },
}

/** What there is of a service, beside its name. */
function showReach({ mayProvision, sees, audience }: ServiceReach): Record<string, string> {
  return shown({
    'Speaks for': mayProvision.join(', ') || 'no source',
    'Learns of tokens': sees.join(', ') || 'nothing more',
    'Takes tokens for': audience ?? 'any resource',
  })
}

type ProposedTerms = Omit<ProfileTerms, 'from'> & { readonly from: string | null }

function readTerms({ from, endsBearers, demandsDpopNonces }: ProposedTerms): ProfileTerms {
  return { from: from === null ? null : new Date(from), endsBearers, demandsDpopNonces }
}

function sayTerms({ from, endsBearers, demandsDpopNonces }: ProfileTerms): string {
  const nonces = demandsDpopNonces ? ', DPoP nonces demanded' : ''
  if (from === null) return `standard${nonces}`
  return `FAPI 2.0 from ${from.toISOString()}, bearer tokens ${endsBearers ? 'end' : 'live out'} then${nonces}`
}

/** What there is of it. */
function shown(facts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined),
  )
}

/** Of one that is enabled, what it is afterwards, and what differs. */
function showChange(before: Provider, after: ProviderFacts): Record<string, string> {
  const differences = before.enabledAt === null ? [] : findDifferences(before, after)
  return { ...showProvider(after), ...(differences.length > 0 && { Changes: differences.join(', ') }) }
}

function showProvider({
  label,
  kind,
  issuer,
  clientId,
  linkClaim,
  linkSource,
  rolesClaim,
  roleMap,
}: ProviderFacts) {
  const roles = Object.entries(roleMap).map(([value, role]) => `${value}: ${role}`)
  return shown({
    ...{ Name: label, For: kind, Issuer: issuer, Client: clientId },
    'Customers by':
      linkClaim === null ? undefined : `${linkClaim}, which equals the external id at ${linkSource}`,
    'Roles by': rolesClaim === null ? undefined : `${rolesClaim}: ${roles.join(', ')}`,
  })
}

export interface WantedAct {
  readonly kind: WiredKind
  readonly values: object
}

/** One that was read: its kind is known by its word alone, and its values are those of that kind. */
export function openWanted({ kind, values }: WantedAct) {
  const act = proposableActs[kind] as ProposableAct<object>
  return {
    readState: (sql: Sql) => act.readState(sql, values),
    apply: (sql: Sql, by: Parameters<typeof act.apply>[2]) => act.apply(sql, values, by),
    alsoNeeds: (sql: Sql) => act.alsoNeeds?.(sql, values),
    branchOf: () => act.branchOf?.(values),
  }
}
