/**
 * Sends what was written. One worker at a time has a notice in hand, under a lease; it is sent before that is
 * written down, so that a node that dies between the two costs a second copy and never the notice. What
 * cannot be sent is tried for a day.
 */
import type { Logger } from 'pino'
import { after, type Clock, day, hour, minute } from '../clock.ts'
import { repeat } from '../concurrency/repeat.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Rounds } from '../database/rounds.ts'
import { cut } from '../text/cut.ts'
import type { Courier, SendResult } from './courier.ts'
import type { NoticeFacts, NoticeKind } from './facts.ts'
import type { NoticeWords } from './message.ts'
import * as table from './notices.sql.ts'

/** Longer than a courier takes for a message. */
export const leaseMs = minute
export const waitsMs = [minute, 5 * minute, 15 * minute, hour, 3 * hour] as const
const retryTimeoutMs = day
const keptMs = 90 * day
const batchSize = 1_000
const errorMaxCharacters = 300

export interface NoticeToSend<Kind extends NoticeKind = NoticeKind> {
  readonly id: number
  readonly email: string
  /** Of the user; null where it goes to an address alone. */
  readonly name: string | null
  readonly key: string
  readonly kind: Kind
  readonly facts: NoticeFacts[Kind]
  readonly attempts: number
  readonly createdAt: Date
}

export interface PostDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly courier: Courier
  readonly findWords: (notice: NoticeToSend) => NoticeWords | Promise<NoticeWords>
  readonly closing: AbortSignal
}

interface SendCounts {
  readonly sent: number
  readonly failed: number
}

/** Everything that is due. When the courier is away the rest is left for the next turn. */
export async function sendDue(deps: PostDependencies): Promise<SendCounts> {
  const done = { sent: 0, failed: 0 }
  while (!deps.closing.aborted) {
    const { db, clock } = deps
    const claimId = crypto.randomUUID()
    const now = clock.now()
    const [notice] = await db.query(table.claimNotice, { claimId, now, until: after(now, leaseMs) })
    if (!notice) break
    const result = await send(deps, notice)
    await settle(deps, notice, claimId, result)
    if (result.kind === 'sent') done.sent++
    else done.failed++
    if (result.kind === 'away') break
  }
  return done
}

async function send({ courier, findWords }: PostDependencies, notice: NoticeToSend): Promise<SendResult> {
  const { id, key, email: to, createdAt: at } = notice
  try {
    return await courier.send({ id, key, to, at, ...(await findWords(notice)) })
  } catch (error) {
    // A kind that only a newer node knows, for one: it is left to that node, and not for ever.
    return { kind: 'later', why: String(error) }
  }
}

async function settle(
  { db, clock, log, closing }: PostDependencies,
  notice: NoticeToSend,
  claimId: string,
  result: SendResult,
) {
  const now = clock.now()
  const { id, kind, attempts } = notice
  if (result.kind === 'sent') {
    await db.query(table.settleNotice, { id, claimId, state: 'sent', settledAt: now })
    return
  }
  const error = cut(result.why, errorMaxCharacters)
  const dueAt = result.kind === 'refused' ? undefined : closing.aborted ? now : nextAttemptAt(notice, now)
  const state = dueAt ? 'waiting' : 'given up'
  await db.query(table.settleNotice, { id, claimId, state, dueAt, error, settledAt: dueAt ? null : now })
  // What a server says may hold an address: it stays in the database.
  const line = { notice: id, kind, attempts, outcome: result.kind }
  log.warn(
    line,
    dueAt ? 'a notice could not be sent; it is tried again' : 'a notice could not be sent and is dropped',
  )
}

function nextAttemptAt({ attempts, createdAt }: Pick<NoticeToSend, 'attempts' | 'createdAt'>, now: Date) {
  const next = after(now, waitsMs[Math.min(attempts, waitsMs.length) - 1]!)
  return next <= after(createdAt, retryTimeoutMs) ? next : undefined
}

export async function removeOldNotices(sql: Sql, now: Date): Promise<void> {
  const values = { until: after(now, -keptMs), most: batchSize }
  while ((await sql.query(table.deleteOldNotices, values)).length === batchSize);
}

interface Post {
  close(): Promise<void>
}

export function openPost(deps: PostDependencies, rounds: Rounds): Post {
  const { db, clock, log } = deps
  const tasks = [
    rounds.add({ name: 'notices', question: table.areNoticesDue, work: () => sendDue(deps) }),
    repeat(log, 'old notices', minute, () => removeOldNotices(db, clock.now())),
  ]
  return {
    async close() {
      deps.courier.close()
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}
