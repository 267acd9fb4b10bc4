/** What it takes to propose an act, and to decide about it. */
import type { Sql } from '../database/database.ts'
import { type Permission, rolesWith } from '../permission.ts'
import type { ProposalKind } from '../proposal-kind.ts'
import { countWithRoles } from './proposals.sql.ts'

export const deciderPermission: Readonly<Record<ProposalKind, Permission>> = {
  'partner.approve': 'partners.manage',
  'partner.refresh-access': 'partners.manage',
  'partner.widen-scopes': 'partners.manage',
  'provider.add': 'providers.manage',
  'keys.rotate': 'keys.manage',
  'user.reset-two-factor': 'users.manage',
  'import.removal': 'imports.manage',
}

/** Who can sign in and may. */
export async function countDeciders(sql: Sql, kind: ProposalKind): Promise<number> {
  const [counted] = await sql.query<{ people: number }>(countWithRoles, [rolesWith(deciderPermission[kind])])
  return counted!.people
}
