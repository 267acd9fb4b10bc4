/** What partners wait for: an answer to their application, or to their request for refresh access. Longest first. */
import { type Sql, statement } from '../database/database.ts'

export interface WaitingPartner {
  readonly branch_id: number
  readonly name: string
  readonly since: Date
}

export interface Waiting {
  readonly count: number
  readonly longest: readonly WaitingPartner[]
}

const selectApplications = statement(
  'select_waiting_applications',
  `SELECT branch_id, name, created_at AS since, count(*) OVER () AS count FROM partners WHERE status = 'applied'
   ORDER BY created_at, branch_id LIMIT $1`,
)

const selectRefreshRequests = statement(
  'select_waiting_refresh_requests',
  `SELECT p.branch_id, p.name, r.asked_at AS since, count(*) OVER () AS count
   FROM refresh_requests r JOIN partners p ON p.branch_id = r.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT $1`,
)

export async function findWaiting(sql: Sql, most: number): Promise<{ applications: Waiting; refresh: Waiting }> {
  const [applications, refresh] = [
    await sql.query<WaitingPartner & { count: number }>(selectApplications, [most]),
    await sql.query<WaitingPartner & { count: number }>(selectRefreshRequests, [most]),
  ]
  const waiting = (rows: typeof applications): Waiting => ({ count: rows[0]?.count ?? 0, longest: rows })
  return { applications: waiting(applications), refresh: waiting(refresh) }
}
