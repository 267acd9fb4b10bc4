import type { Actor } from '../audit/audit.ts'
import { type Sql, statement } from '../database/database.ts'
import { tellUser } from '../notices/notice.ts'
import type { Consent } from './authorization.ts'

const selectNames = statement(
  'select_application_names',
  'SELECT c.name AS client, p.name AS partner FROM clients c JOIN partners p USING (branch_id) WHERE c.id = $1',
)

/** When a client is approved that was not approved already. */
export async function tellOfApplication(
  sql: Sql,
  { request, userId, environment }: Consent,
  authorizationId: number,
  by: Actor,
  now: Date,
): Promise<void> {
  const [names] = await sql.query<{ client: string; partner: string }>(selectNames, [request.clientId])
  const facts = { environment, ...names!, scopes: request.scopes, address: by.address ?? null }
  await tellUser(sql, userId, { kind: 'application', key: String(authorizationId), facts }, now)
}
