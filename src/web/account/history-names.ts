/** What the log knows by ids, as an account holder knows it: people and partners by name, staff as the brokerage. */
import type { AuditEntry } from '../../audit/audit.ts'
import { tell } from '../../audit/sentence.ts'
import type { Sql } from '../../database/database.ts'
import { selectClientNames } from '../../partners/clients.sql.ts'
import { selectPartnerNames } from '../../partners/partners.sql.ts'
import type { User } from '../../users/user.ts'
import { selectUserNames } from '../../users/users.sql.ts'

/** By the id as the log has it, such as `user:id-…`. */
export type HistoryNames = (id: string) => string

export async function findHistoryNames(
  sql: Sql,
  entries: readonly AuditEntry[],
  reader: User,
): Promise<HistoryNames> {
  const ids = entries.flatMap((entry) =>
    [...tell(entry), { id: entry.subject }].flatMap((part) => (typeof part === 'string' ? [] : [part.id])),
  )
  const of = (prefix: string) => [
    ...new Set(ids.filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length))),
  ]
  const branchIds = of('branch:')
    .filter((id) => /^\d{1,9}$/.test(id))
    .map(Number)
  const [users, clients, partners] = await Promise.all([
    sql.query(selectUserNames, { ids: of('user:') }),
    sql.query(selectClientNames, { ids: of('client:') }),
    sql.query(selectPartnerNames, { branchIds }),
  ])
  const isStaff = reader.role === 'operator'
  const names = new Map([
    ...users.map(({ id, name, role }): [string, string] => [
      `user:${id}`,
      role === 'operator' && !isStaff ? brokerage : name,
    ]),
    ...clients.map(({ id, name }): [string, string] => [`client:${id}`, name]),
    ...partners.map(({ branchId, name }): [string, string] => [`branch:${branchId}`, name]),
  ])
  return (id) => (id === `user:${reader.id}` ? 'you' : (names.get(id) ?? nameless(id)))
}

const brokerage = 'the brokerage'

/** Those that have no name, or none that a holder knows. */
function nameless(id: string): string {
  const [kind = '', key = ''] = id.split(':')
  if (kind === 'user' || kind === 'anonymous') return 'somebody'
  if (kind === 'client') return 'an application'
  if (kind === 'branch') return 'a partner'
  if (kind === 'operator' || kind === 'service' || kind === 'gateway') return brokerage
  return `${kind} ${key}`.trim()
}
