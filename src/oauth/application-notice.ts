import type { Act } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { tellUser } from '../notices/notice.ts'
import { selectApplicationNames } from '../partners/clients.sql.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { AuthorizationRequest } from './authorization-request.ts'

interface Approval {
  readonly request: AuthorizationRequest
  readonly userId: string
  readonly environment: Environment
}

/** When a client is approved that was not approved already. */
export async function tellOfApplication(
  sql: Sql,
  { request, userId, environment }: Approval,
  authorizationId: number,
  act: Act,
): Promise<void> {
  const names = await sql.one(selectApplicationNames, { id: request.clientId })
  const facts = { environment, ...names, scopes: request.scopes, address: act.by.address ?? null }
  await tellUser(sql, userId, { kind: 'application', key: String(authorizationId), facts }, act.at)
}
