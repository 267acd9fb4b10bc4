/**
 * What partner and brokerage tell each other, and what was decided when: one list that both sides read, only
 * ever added to. A message is told to the other side by e-mail, without its text: to read it, a person signs
 * in.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { findTextProblem } from '../text/name.ts'
import type { KeptApplication } from './application-details.ts'
import { tellOfMessage } from './message-notices.ts'
import * as table from './partner-messages.sql.ts'
import type { DecidedStatus } from './partner-status.ts'
import { lockPartner } from './partners.sql.ts'

/** Whose it is. */
interface Thread {
  readonly branchId: number
}

export type Side = 'partner' | 'brokerage'

export interface PartnerMessage {
  readonly id: number
  readonly kind: 'message' | 'applied' | DecidedStatus
  readonly side: Side
  /** Null where no person wrote it. */
  readonly authorId: string | null
  readonly authorName: string | null
  readonly text: string | null
  readonly application: KeptApplication | null
  readonly writtenAt: Date
}

interface NewMessage {
  readonly kind: PartnerMessage['kind']
  readonly side: Side
  readonly text?: string | undefined
  readonly application?: KeptApplication
}

/** Of one side in a day: a conversation, and no flood. */
export const messagesADay = 50
const mostCharacters = 2_000

export async function sendMessage(
  db: Sql,
  thread: Thread,
  side: Side,
  text: string,
  act: Act,
): Promise<void> {
  const problem = findTextProblem(text, mostCharacters)
  if (problem) throw new Invalid([{ field: 'message', problem }])
  await db.transaction(async (sql) => {
    await sql.query(lockPartner, { branchId: thread.branchId })
    const today = await sql.one(table.countSince, {
      branchId: thread.branchId,
      side,
      since: after(act.at, -day),
    })
    if (today.messages >= messagesADay)
      throw new Conflict(`That were ${messagesADay} messages in a day. Write again tomorrow.`)
    const id = await writeDown(sql, thread, { kind: 'message', side, text }, act)
    await recordAct(sql, act, 'partner.message_sent', `branch:${thread.branchId}`, { side, messageId: id })
    await tellOfMessage(sql, thread, { id, side }, act.at)
  })
}

/** In the transaction of what it tells of. */
export async function writeDown(
  sql: Sql,
  { branchId }: Thread,
  { kind, side, text, application }: NewMessage,
  act: Act,
): Promise<number> {
  const [, authorId] = /^user:(.+)$/.exec(act.by.name) ?? []
  const values = { branchId, kind, side, authorId, text, application, writtenAt: act.at }
  return (await sql.one(table.insertMessage, values)).id
}

/** The newest so many, oldest of them first. */
export async function listMessages(sql: Sql, { branchId }: Thread, most: number): Promise<PartnerMessage[]> {
  return (await sql.query(table.selectMessages, { branchId, most })).reverse()
}
