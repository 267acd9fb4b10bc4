/** Names beside ids, for people: who an id is. */
import type { Sql } from '../database/database.ts'
import { selectPartnerNames } from '../partners/partners.sql.ts'
import { selectUserNames } from '../users/users.sql.ts'

export async function namePartners(sql: Sql, ids: Iterable<number>): Promise<Map<number, string>> {
  const rows = await sql.query(selectPartnerNames, { branchIds: [...new Set(ids)] })
  return new Map(rows.map(({ branchId, name }) => [branchId, name]))
}

export async function nameUsers(sql: Sql, ids: Iterable<string>): Promise<Map<string, string>> {
  const rows = await sql.query(selectUserNames, { ids: [...new Set(ids)] })
  return new Map(rows.map(({ id, name }) => [id, name]))
}
