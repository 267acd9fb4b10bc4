/**
 * What partners wait for, and what is about to stop working for them: what an operator looks at first. Each
 * list is bounded, longest first.
 */
import { after, day, hour } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import * as table from './attention.sql.ts'
import { selectLooksAsked } from './client-looks.sql.ts'
import type { PartnerVersion } from './partner.ts'

/** What it said of itself is absent where the brokerage registered it. */
export interface Applicant extends PartnerVersion {
  readonly branchId: number
  readonly name: string
  readonly since: Date
  readonly website: string | null
  readonly contact: string | null
  readonly purpose: string | null
}

export const listApplicants = (sql: Sql, most: number) => sql.query(table.selectApplicants, { most })

export const listRefreshAsked = (sql: Sql, most: number) => sql.query(table.selectRefreshAsked, { most })

export const listLooksAsked = (sql: Sql, most: number) => sql.query(selectLooksAsked, { most })

export const listScopesAsked = (sql: Sql, most: number) => sql.query(table.selectScopesAsked, { most })

export const listProfilesAsked = (sql: Sql, most: number) => sql.query(table.selectProfilesAsked, { most })

const endsSoonMs = 3 * day
const usedLatelyMs = day

/** Client secrets that end soon although they are in use. */
export function listEndingSecrets(sql: Sql, now: Date, most: number) {
  const values = { now, before: after(now, endsSoonMs), usedSince: after(now, -usedLatelyMs), most }
  return sql.query(table.selectEndingSecrets, values)
}

const refusedWithinMs = hour
const refusedLookedAt = 1_000
/** Of the hundred that are kept of a partner: less is a typing mistake. */
const manyRefused = 50

export function listRefusedPartners(sql: Sql, now: Date, most: number) {
  const since = after(now, -refusedWithinMs)
  const values = { since, lookedAt: refusedLookedAt, least: manyRefused, most }
  return sql.query(table.selectRefusedPartners, values)
}
