/**
 * An operator on the machine's command line needs no second person, and is heard: what takes two people in
 * the console is recorded as done past them, and told.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import { rolesWith } from '../vocabulary/permission.ts'
import type { ProposalKind } from '../vocabulary/proposal-kind.ts'
import { tellOfBreakGlass } from './proposals.sql.ts'

export async function recordBreakGlass(
  sql: Sql,
  kind: ProposalKind,
  subject: string,
  act: Act,
): Promise<void> {
  await recordAct(sql, act, 'proposal.bypassed', subject, { kind })
  await sql.query(tellOfBreakGlass, {
    ...memberLimits(act.at),
    key: `${kind}:${subject}:${act.at.toISOString()}`,
    facts: { kind, by: act.by.name, subject },
    about: '',
    roles: rolesWith('staff.manage'),
  })
}
