/**
 * Spec 5.8: a partner asks for refresh access. A trigger writes the answer down when the access is granted or
 * withdrawn.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { findTextProblem } from '../text/name.ts'
import type { Partner } from './partner.ts'
import { insertRequest, selectNewest } from './refresh-requests.sql.ts'

export interface RefreshRequest {
  readonly reason: string
  readonly askedAt: Date
  readonly granted: boolean | null
  readonly answeredAt: Date | null
}

/** One question waits at a time. */
export async function askForRefresh(db: Sql, { branchId }: Partner, reason: string, act: Act): Promise<void> {
  const problem = findTextProblem(reason, 2_000)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
  await db.transaction(async (sql) => {
    await sql.query(insertRequest, { branchId, reason, askedAt: act.at }).catch((error: unknown) => {
      throw violates(error, 'refresh_requests_open') ? new Conflict('You have asked already.') : error
    })
    await recordAct(sql, act, 'partner.refresh_asked', `branch:${branchId}`)
  })
}

export async function findRefreshRequest(
  sql: Sql,
  { branchId }: Partner,
): Promise<RefreshRequest | undefined> {
  const [request] = await sql.query(selectNewest, { branchId })
  return request
}
