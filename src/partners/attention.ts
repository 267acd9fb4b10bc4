/** What partners wait for, and what is about to stop working for them: what an operator looks at first. Each list is bounded, longest first. */
import { after, day, hour } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import * as table from './attention.sql.ts'
import { selectLooksAsked } from './client-looks.sql.ts'
import type { Seen } from './partner.ts'

interface AboutPartner {
  readonly branchId: number
  readonly name: string
}

interface Waiting extends AboutPartner {
  readonly since: Date
}

/** What it said of itself is absent where the brokerage registered it. */
export interface Applicant extends Waiting, Seen {
  readonly website: string | null
  readonly contact: string | null
  readonly purpose: string | null
}

interface RefreshAsked extends Waiting {
  readonly reason: string
}

interface ScopesAsked extends Waiting {
  readonly id: number
  readonly clientId: string
  readonly client: string
  readonly scopes: readonly string[]
  readonly reason: string
}

interface EndingSecret extends AboutPartner {
  readonly clientId: string
  readonly client: string
  readonly environment: Environment
  readonly hint: string
  readonly endsAt: Date
  readonly lastUsedAt: Date
}

interface RefusedPartner extends Waiting {
  readonly calls: number
}

export const listApplicants = (sql: Sql, most: number) => sql.query<Applicant>(table.selectApplicants, [most])

export const listRefreshAsked = (sql: Sql, most: number) => sql.query<RefreshAsked>(table.selectRefreshAsked, [most])

interface LookAsked extends Waiting {
  readonly clientId: string
  readonly client: string
  readonly purpose: string | null
}

export const listLooksAsked = (sql: Sql, most: number) => sql.query<LookAsked>(selectLooksAsked, [most])

export const listScopesAsked = (sql: Sql, most: number) => sql.query<ScopesAsked>(table.selectScopesAsked, [most])

const endsSoonMs = 3 * day
const usedLatelyMs = day

/** Client secrets that end soon although they are in use. */
export function listEndingSecrets(sql: Sql, now: Date, most: number): Promise<EndingSecret[]> {
  const values = [now, after(now, endsSoonMs), after(now, -usedLatelyMs), most]
  return sql.query<EndingSecret>(table.selectEndingSecrets, values)
}

const refusedWithinMs = hour
const refusedLookedAt = 1_000
/** Of the hundred that are kept of a partner: less is a typing mistake. */
const manyRefused = 50

export function listRefusedPartners(sql: Sql, now: Date, most: number): Promise<RefusedPartner[]> {
  const values = [after(now, -refusedWithinMs), refusedLookedAt, manyRefused, most]
  return sql.query<RefusedPartner>(table.selectRefusedPartners, values)
}
