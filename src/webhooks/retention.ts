/**
 * What is old leaves by whole days (range partitions): a day's partitions are dropped, however much is in them. What is still unfinished
 * then is settled as expired, told and counted. A day that somebody is reading just now, a dump say, is dropped at the next turn.
 */
import { gatewayAct, recordAct } from '../audit/audit.ts'
import { after, type Clock, day as dayMs } from '../clock.ts'
import { type Database, isBlocked, isMissing, type Sql, type Statement } from '../database/database.ts'
import { dayOf, idsADay } from './days.ts'
import { joinBehind, tellLanes } from './lanes.sql.ts'
import { writeToPart } from './part.ts'
import * as statements from './retention.sql.ts'

const bite = 1_000
const lockPatienceMs = 200

interface RetentionPolicy {
  readonly attemptDays: number
  readonly eventDays: number
}

interface Retired {
  /** Days that were dropped, of each table. */
  readonly days: number
  readonly expired: number
  readonly keys: number
}

/** Answers what left. */
export async function retireOnce(
  db: Database,
  { attemptDays, eventDays }: RetentionPolicy,
  now: Date,
  clock: Clock = { now: () => now },
): Promise<Retired> {
  const oldest = dayOf(after(now, -eventDays * dayMs))
  // A day later: an event of the last moment of a day has its place in the log of the next.
  const oldestEvents = dayOf(after(now, -(eventDays + 1) * dayMs))
  let expired = await expireAll(db, statements.selectOld, oldest, clock)
  const keys = await db.query(statements.deleteKeys, [after(now, -eventDays * dayMs), bite])
  let days = await dropBefore(db, 'attempts', dayOf(after(now, -attemptDays * dayMs)))
  days += await dropBefore(db, 'settled_deliveries', oldest)
  days += await dropBefore(db, 'branch_log', oldest)
  if ((await findOldDays(db, 'events', oldestEvents)).length > 0) {
    expired += await expireAll(db, statements.selectOfOldEvents, oldestEvents, clock)
    days += await dropBefore(db, 'events', oldestEvents)
  }
  return { days, expired, keys: keys.length }
}

interface Old {
  readonly id: number
  readonly part: number
}

async function expireAll(db: Database, select: Statement, day: number, clock: Clock): Promise<number> {
  const [first] = await db.query<{ day: number }>(statements.selectFirstDay)
  // What was there before days were counted is as old as the first day.
  const range = [first!.day < day ? 0 : idsADay, day * idsADay]
  let expired = 0
  for (;;) {
    const old = await db.query<Old>(select, [...range, bite])
    if (old.length === 0) return expired
    for (const [part, rows] of Map.groupBy(old, (row) => row.part)) {
      const ids = rows.map((row) => row.id)
      expired += await expire(db, part, ids, clock)
    }
  }
}

/** They are told of, and what waited behind them goes on: from this moment, because lanes may have read what was due before. */
export function expire(db: Database, part: number, ids: readonly number[], clock: Clock): Promise<number> {
  return writeToPart(db, part, async (sql) => {
    const now = clock.now()
    const gone = await sql.query<{ id: number; webhookId: number }>(statements.expireQueued, [ids, now])
    const byWebhook = Map.groupBy(gone, (row) => row.webhookId)
    await sql.query(joinBehind, [gone.map((row) => row.id), now])
    await sql.query(tellLanes, [[...byWebhook.keys()], now])
    for (const [webhookId, { length }] of byWebhook)
      await recordAct(sql, gatewayAct(now), 'webhook.expired', `webhook:${webhookId}`, { deliveries: length })
    return gone.length
  })
}

type Table = 'events' | 'settled_deliveries' | 'branch_log' | 'attempts'

async function findOldDays(db: Database, table: Table, oldest: number): Promise<number[]> {
  const [first] = await db.query<{ day: number }>(statements.selectFirstDay)
  const kept = (await db.query<{ day: number }>(statements.selectKept, [table])).map((row) => row.day)
  return kept.filter((day) => (day === 0 ? first!.day : day) < oldest)
}

async function dropBefore(db: Database, table: Table, oldest: number): Promise<number> {
  let dropped = 0
  for (const day of await findOldDays(db, table, oldest)) if (await drop(db, table, day)) dropped++
  return dropped
}

async function drop(db: Database, table: Table, day: number): Promise<boolean> {
  try {
    return await db.transaction(async (sql) => {
      if (table === 'branch_log') await sql.query(statements.closeLogDay, [day])
      await sql.script(
        `SET LOCAL lock_timeout = ${lockPatienceMs}; LOCK TABLE ${table}_d${day} IN ACCESS EXCLUSIVE MODE`,
      )
      if (table === 'events' && (await areWanted(sql, day))) return false
      await sql.query(statements.dropDay, [table, day])
      if (table !== 'branch_log') return true
      await sql.query(statements.forgetLogDay, [day])
      await sql.query(statements.emptyLogDay, [day])
      return true
    })
  } catch (error) {
    // Another node may have dropped it in the same moment.
    if (isBlocked(error) || isMissing(error)) return false
    throw error
  }
}

/** Whoever asks for one of them again from now on waits for the lock, and finds it gone. */
async function areWanted(sql: Sql, day: number): Promise<boolean> {
  return (await sql.query(statements.selectWanted, [day * idsADay, (day + 1) * idsADay])).length > 0
}
