/**
 * A partner asks for FAPI 2.0 of a client. A trigger writes the answer down when the moment is set, by whatever
 * means; keys and secrets may come until then.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { type Client, getClient } from './client.ts'
import { lockClient } from './clients.sql.ts'
import * as table from './profile-requests.sql.ts'

export interface ProfileRequest {
  readonly id: number
  readonly clientId: string
  /** Null: whenever it suits the brokerage. */
  readonly wishedFrom: Date | null
  readonly askedAt: Date
  readonly granted: boolean | null
  readonly answeredAt: Date | null
}

/** One question of a client waits at a time. */
export async function askForFapi2(
  db: Sql,
  { id, branchId }: Client,
  wishedFrom: Date | undefined,
  act: Act,
): Promise<void> {
  if (wishedFrom !== undefined && wishedFrom < act.at)
    throw new Invalid([{ field: 'wished', problem: 'must not lie in the past' }])
  await db.transaction(async (sql) => {
    await sql.query(lockClient, { id })
    if ((await getClient(sql, id)).fapi2From !== null)
      throw new Conflict('The brokerage has set FAPI 2.0 for this client already.')
    await sql
      .query(table.insertRequest, { clientId: id, wishedFrom, askedAt: act.at })
      .catch((error: unknown) => {
        throw violates(error, 'profile_requests_open') ? new Conflict('You have asked already.') : error
      })
    const details = { branchId, ...(wishedFrom && { from: wishedFrom }) }
    await recordAct(sql, act, 'client.profile_asked', `client:${id}`, details)
  })
}

/** False when this request is answered already, or is none of this client. */
export function declineProfileRequest(
  db: Sql,
  { id: clientId, branchId }: Client,
  id: number,
  act: Act,
): Promise<boolean> {
  return db.transaction(async (sql) => {
    await sql.query(lockClient, { id: clientId })
    const [declined] = await sql.query(table.declineRequest, { id, clientId, answeredAt: act.at })
    if (declined) await recordAct(sql, act, 'client.profile_declined', `client:${clientId}`, { branchId })
    return declined !== undefined
  })
}

/** The newest, whether or not it was answered. */
export async function findProfileRequest(sql: Sql, clientId: string): Promise<ProfileRequest | undefined> {
  const [request] = await sql.query(table.selectNewest, { clientId })
  return request
}

export function listOpenProfileRequests(sql: Sql, branchId: number): Promise<ProfileRequest[]> {
  return sql.query(table.selectOpenOfBranch, { branchId })
}
