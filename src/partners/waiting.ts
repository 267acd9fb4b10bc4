/** What partners wait for: an answer to their application, or to their request for refresh access or wider scopes. Longest first. */
import { type Sql, statement } from '../database/database.ts'

export interface WaitingPartner {
  readonly branch_id: number
  readonly name: string
  readonly since: Date
}

export interface AskingPartner extends WaitingPartner {
  readonly reason: string
}

/** How many there are, and who has waited longest. */
export interface Waiting<Partner extends WaitingPartner = WaitingPartner> {
  readonly count: number
  readonly longest: readonly Partner[]
}

const selectApplications = statement(
  'select_waiting_applications',
  `SELECT branch_id, name, created_at AS since, count(*) OVER () AS count FROM partners WHERE status = 'applied'
   ORDER BY created_at, branch_id LIMIT $1`,
)

const selectRefreshRequests = statement(
  'select_waiting_refresh_requests',
  `SELECT p.branch_id, p.name, r.reason, r.asked_at AS since, count(*) OVER () AS count
   FROM refresh_requests r JOIN partners p ON p.branch_id = r.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)

const selectScopeRequests = statement(
  'select_waiting_scope_requests',
  `SELECT p.branch_id, p.name, c.name AS client, r.scopes, r.reason, r.asked_at AS since, count(*) OVER () AS count
   FROM scope_requests r JOIN clients c ON c.id = r.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)

/** For one of its clients. */
export interface WideningPartner extends AskingPartner {
  readonly client: string
  readonly scopes: readonly string[]
}

export interface AllWaiting {
  readonly applications: Waiting
  readonly refresh: Waiting<AskingPartner>
  readonly scopes: Waiting<WideningPartner>
}

export async function findWaiting(sql: Sql, most: number): Promise<AllWaiting> {
  const applications = await sql.query<WaitingPartner & { count: number }>(selectApplications, [most])
  const refresh = await sql.query<AskingPartner & { count: number }>(selectRefreshRequests, [most])
  const scopes = await sql.query<WideningPartner & { count: number }>(selectScopeRequests, [most])
  return {
    applications: { count: applications[0]?.count ?? 0, longest: applications },
    refresh: { count: refresh[0]?.count ?? 0, longest: refresh },
    scopes: { count: scopes[0]?.count ?? 0, longest: scopes },
  }
}
