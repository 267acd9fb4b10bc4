/** Who is told by e-mail that the brokerage has decided or set a profile, or that the other side has written. */
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import { tellDecided, tellMembersOfMessage, tellProfile, tellStaffOfMessage } from './message-notices.sql.ts'
import type { DecidedStatus } from './partner-status.ts'

interface NoticeBranch {
  readonly branchId: number
}

export async function tellOfDecision(
  sql: Sql,
  { branchId }: NoticeBranch,
  { status, reason }: { readonly status: DecidedStatus; readonly reason: string | undefined },
  now: Date,
): Promise<void> {
  await sql.query(tellDecided, { ...memberLimits(now), branchId, status, reason })
}

export async function tellOfMessage(
  sql: Sql,
  { branchId }: NoticeBranch,
  { id, side }: { readonly id: number; readonly side: 'partner' | 'brokerage' },
  now: Date,
): Promise<void> {
  const tell = side === 'partner' ? tellStaffOfMessage : tellMembersOfMessage
  await sql.query(tell, { ...memberLimits(now), branchId, messageId: String(id) })
}

export async function tellOfProfile(sql: Sql, clientId: string, now: Date): Promise<void> {
  await sql.query(tellProfile, { ...memberLimits(now), clientId, setAt: now })
}
