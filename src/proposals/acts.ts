/**
 * What can be proposed: for each kind what the act depends on, and the act itself; deciders.ts says who may decide it. Whoever adds a kind adds a row here, and calls
 * `carryOut` where the act was done before: it does it at once, or proposes it where the brokerage wants four eyes.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Act } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import { neededToHandOut } from '../identity/handed-out.ts'
import { enableProvider, factsOf, holdDraft, listProviders, type ProviderFacts } from '../identity/provider.ts'
import { getClient, setScopesAtMost } from '../partners/client.ts'
import { lockClient } from '../partners/clients.sql.ts'
import { decide, getPartner, parseSeen, printSeen, setRefreshAccess } from '../partners/partner.ts'
import { lockPartner } from '../partners/partners.sql.ts'
import { findRefreshRequest } from '../partners/refresh-request.ts'
import { answerScopeRequest, findOpenScopeRequest } from '../partners/scope-request.ts'
import type { Permission } from '../permission.ts'
import { holdRemoval } from '../provisioning/import-review.ts'
import { allowRemoval } from '../provisioning/snapshot.ts'
import { covers, type Scope } from '../scope.ts'
import { lockUser } from '../users/api-tokens.sql.ts'
import { findSecondFactors, isGuarded, resetSecondFactor } from '../users/second-factor.ts'
import { findNeededOver } from '../users/staff-role.ts'
import { getUserById } from '../users/user.ts'

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
  }
  readonly 'user.reset-two-factor': { readonly userId: string }
  /** `missing` is how many records go, as whoever proposes it has seen. */
  readonly 'import.removal': { readonly importId: number; readonly missing: number }
  /** One that is written down, with all that it is set up by. Its credential stays sealed, where it is. */
  readonly 'provider.add': { readonly providerId: number } & ProviderFacts
}

export type WiredKind = keyof ProposedActs

interface ProposableAct<Values> {
  /** Whoever may look at this sees what is proposed. */
  readonly sees: Permission
  /** What it takes beside the permission of its kind. */
  alsoNeeds?(sql: Sql, values: Values): Promise<readonly Permission[]>
  /** Whom or what it is done to, as the audit log has it. */
  subjectOf(values: Values): string
  /** What it depends on, held still until the transaction ends; undefined where there is nothing to be done any more. */
  readState(sql: Sql, values: Values): Promise<object | undefined>
  /** Whether it hands out nothing that is not there already: then one person is enough. Asked after the state was read. */
  isHarmless?(sql: Sql, values: Values): Promise<boolean>
  /** Within the transaction that it is handed. False when nothing was done, because something else has happened meanwhile. */
  apply(db: Database, values: Values, act: Act): Promise<boolean>
}

export const proposableActs: { readonly [Kind in WiredKind]: ProposableAct<ProposedActs[Kind]> } = {
  'partner.approve': {
    sees: 'partners.see',
    subjectOf: ({ branchId }) => `branch:${branchId}`,
    async readState(sql, { branchId, seen }) {
      await sql.query(lockPartner, [branchId])
      const partner = await getPartner(sql, String(branchId))
      return printSeen(partner) === seen && partner.status !== 'approved' ? { seen, name: partner.name } : undefined
    },
    async apply(db, { branchId, seen }, act) {
      const partner = await getPartner(db, String(branchId))
      return decide(db, partner, { status: 'approved', seen: parseSeen(seen)! }, act)
    },
  },
  'partner.refresh-access': {
    sees: 'partners.see',
    subjectOf: ({ branchId }) => `branch:${branchId}`,
    async readState(sql, { branchId }) {
      await sql.query(lockPartner, [branchId])
      const { refreshAccess, status, ...partner } = await getPartner(sql, String(branchId))
      const request = await findRefreshRequest(sql, { refreshAccess, status, ...partner })
      const asked = request?.answeredAt === null ? request.askedAt : null
      return refreshAccess && asked === null ? undefined : { status, refreshAccess, asked }
    },
    async apply(db, { branchId }, act) {
      await setRefreshAccess(db, await getPartner(db, String(branchId)), true, act)
      return true
    },
  },
  'partner.widen-scopes': {
    sees: 'partners.see',
    subjectOf: ({ clientId }) => `client:${clientId}`,
    async readState(sql, { clientId, requestId }) {
      const [held] = await sql.query<{ scopesAtMost: readonly Scope[] }>(lockClient, [clientId])
      const request = await findOpenScopeRequest(sql, clientId)
      if (!held || (requestId !== undefined && request?.id !== requestId)) return undefined
      return { atMost: held.scopesAtMost, request: request?.id ?? null }
    },
    async isHarmless(sql, { clientId, atMost, requestId }) {
      // An answer grants what was asked for, whatever the client was when it was looked at.
      if (requestId !== undefined) return false
      const { scopesAtMost } = await getClient(sql, clientId)
      return covers(scopesAtMost, atMost)
    },
    async apply(db, { clientId, atMost, requestId }, act) {
      const client = await getClient(db, clientId)
      if (requestId !== undefined) return answerScopeRequest(db, client, { id: requestId, granted: true }, act)
      await setScopesAtMost(db, client, atMost, act)
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
      await sql.query(lockUser, [userId])
      const factors = await findSecondFactors(sql, userId)
      if (!isGuarded(factors)) return undefined
      return { app: factors.totp?.createdAt ?? null, passkeys: factors.passkeys.map(({ id }) => id) }
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
      return removal?.missing === missing ? removal : undefined
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
      const draft = await holdDraft(sql, providerId)
      if (!draft || !isDeepStrictEqual(factsOf(draft), factsOf(facts))) return undefined
      const others = (await listProviders(sql)).filter(({ kind }) => kind === draft.kind)
      // Whoever decides has tested it with one credential, and not with another.
      const { createdAt, credentialAt } = draft
      return { ...factsOf(draft), createdAt, credentialAt, beside: others.map(({ id }) => id) }
    },
    apply: (db, { providerId }, act) => enableProvider(db, providerId, act),
  },
}

/** Of a kind that is known by its word alone. */
export function actOfKind(kind: WiredKind): ProposableAct<never> {
  return proposableActs[kind] as ProposableAct<never>
}
