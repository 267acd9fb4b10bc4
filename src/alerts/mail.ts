/**
 * Alerts by mail: to the members, or to the staff who can do something about it, but for kinds that a person
 * declined. What goes out together is one message, a digest.
 */
import type { Sql } from '../database/database.ts'
import { type AlertKind, staffAlertKinds } from '../vocabulary/alert-kind.ts'
import { type Permission, rolesWith } from '../vocabulary/permission.ts'
import { tellMembers, tellOperators } from './mail.sql.ts'

const permissionFor: Readonly<Record<AlertKind, Permission>> = {
  failing: 'webhooks.operate',
  recovered: 'webhooks.operate',
  disabled: 'webhooks.operate',
  lag: 'webhooks.operate',
  expiring: 'keys.manage',
  provider: 'providers.manage',
  audit: 'audit.see',
}

/** `kind:role`: who is told of what. */
const audience = staffAlertKinds.flatMap((kind) =>
  rolesWith(permissionFor[kind]).map((role) => `${kind}:${role}`),
)

/** What is beyond is counted. */
const listedAtMost = 50

/** In the transaction that settles them: those that another worker has settled are not told again. */
export async function mailAlerts(
  sql: Sql,
  ofBrokerage: boolean,
  settled: readonly { readonly id: number }[],
  now: Date,
): Promise<void> {
  const values = { ids: settled.map(({ id }) => id), listed: listedAtMost, now }
  if (ofBrokerage) await sql.query(tellOperators, { ...values, audience })
  else await sql.query(tellMembers, values)
}
