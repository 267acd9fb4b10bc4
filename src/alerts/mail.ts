/** Alerts by mail: notices to the members, or to the staff who can do something about it, as each chose. */
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import { type Permission, rolesWith } from '../vocabulary/permission.ts'
import type { ClaimedAlert } from './alerts.sql.ts'
import { tellMembersOf, tellOperators } from './mail.sql.ts'

const permissionFor: Readonly<Record<AlertKind, Permission>> = {
  failing: 'webhooks.operate',
  recovered: 'webhooks.operate',
  disabled: 'webhooks.operate',
  lag: 'webhooks.operate',
  expiring: 'keys.manage',
  provider: 'providers.manage',
}

/** In the transaction that settles them: those that another worker has settled are not told again. */
export async function mailAlerts(
  sql: Sql,
  ofBrokerage: boolean,
  settled: readonly { readonly id: number }[],
  alerts: readonly ClaimedAlert[],
  now: Date,
): Promise<void> {
  const won = new Set(settled.map(({ id }) => id))
  const byKind = Map.groupBy(
    alerts.filter(({ id }) => won.has(id)),
    ({ kind }) => kind,
  )
  for (const [kind, some] of byKind) {
    const values = { ...memberLimits(now), ids: some.map(({ id }) => id) }
    if (kind === 'test' || kind === 'confirmation') continue
    if (ofBrokerage) await sql.query(tellOperators, { ...values, roles: rolesWith(permissionFor[kind]) })
    else if (kind !== 'lag' && kind !== 'provider') await sql.query(tellMembersOf[kind], values)
  }
}
