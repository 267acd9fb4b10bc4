/**
 * What partners wait for: an answer to their application, or to their request for refresh access or wider
 * scopes. Longest first.
 */
import type { Sql } from '../database/database.ts'
import { selectApplications, selectRefreshRequests, selectScopeRequests } from './waiting.sql.ts'

export interface WaitingPartner {
  readonly branchId: number
  readonly name: string
  readonly since: Date
}

export interface AskingPartner extends WaitingPartner {
  readonly reason: string
}

/** How many there are, and who has waited longest. */
export interface WaitingList<Partner extends WaitingPartner = WaitingPartner> {
  readonly count: number
  readonly longest: readonly Partner[]
}

/** For one of its clients. */
export interface WideningPartner extends AskingPartner {
  readonly client: string
  readonly scopes: readonly string[]
}

interface WaitingLists {
  readonly applications: WaitingList
  readonly refresh: WaitingList<AskingPartner>
  readonly scopes: WaitingList<WideningPartner>
}

export async function findWaiting(sql: Sql, most: number): Promise<WaitingLists> {
  const applications = await sql.query(selectApplications, { most })
  const refresh = await sql.query(selectRefreshRequests, { most })
  const scopes = await sql.query(selectScopeRequests, { most })
  return {
    applications: { count: applications[0]?.count ?? 0, longest: applications },
    refresh: { count: refresh[0]?.count ?? 0, longest: refresh },
    scopes: { count: scopes[0]?.count ?? 0, longest: scopes },
  }
}
