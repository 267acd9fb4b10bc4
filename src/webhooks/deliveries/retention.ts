/**
 * What is old leaves by whole days (range partitions): a day's partitions are dropped, however much is in
 * them. What is still unfinished then is passed as expired, told and counted. A day that another transaction
 * is reading, a dump for example, is dropped at the next turn.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { gatewayAct, recordAct } from '../../audit/audit.ts'
import { after, day as dayMs } from '../../clock.ts'
import { advisoryLocks } from '../../database/advisory-locks.ts'
import { isBlocked, type Sql } from '../../database/database.ts'
import { expireUpTo, tellOfAct } from '../engine/cursor-acts.sql.ts'
import { dayOf } from '../events/days.ts'
import { selectHeads } from '../events/log.sql.ts'
import { allParts } from '../events/part.ts'
import { countedAtMost } from '../health/webhook-health.ts'
import * as table from './retention.sql.ts'

const bite = 1_000
/**
 * While the transaction that drops a day waits for its lock, every later transaction on these tables queues
 * behind it: so the wait is short, and tried again.
 */
const lockTimeoutMs = 25
const tries = 20
const pauseMs = 100

interface RetentionPolicy {
  readonly attemptDays: number
  readonly eventDays: number
}

interface RetentionCounts {
  /** Days that were dropped, of the log and of what was answered. */
  readonly days: number
  /** Deliveries; of each webhook so many are counted and no more. */
  readonly expired: number
  readonly keys: number
}

/** Answers what left. */
export async function retireOnce(
  db: Sql,
  { attemptDays, eventDays }: RetentionPolicy,
  now: Date,
): Promise<RetentionCounts> {
  const oldest = after(now, -eventDays * dayMs)
  const keys = await deleteKeys(db, oldest)
  let days = await dropAnswers(db, dayOf(after(now, -attemptDays * dayMs)))
  let expired = 0
  for (const { day } of await db.query(table.selectOldDays, { day: dayOf(oldest) })) {
    try {
      for (const part of allParts) {
        expired += await expire(db, part, day, now)
        await moveOn(db, part, day)
      }
      if (await drop(db, day)) days++
    } catch (error) {
      // Another node may be dropping a day in this moment.
      if (!isBlocked(error)) throw error
    }
  }
  for (const part of allParts) {
    await db.query(table.deletePasses, { part, before: oldest })
    await db.query(table.deleteReplays, { part, before: oldest })
  }
  return { days, expired, keys }
}

async function deleteKeys(db: Sql, before: Date): Promise<number> {
  for (let keys = 0; ; ) {
    const { length } = await db.query(table.deleteKeys, { before, most: bite })
    keys += length
    if (length < bite) return keys
  }
}

/** They are told of, and entities that failed go on with what came later. */
async function expire(db: Sql, part: number, day: number, now: Date): Promise<number> {
  let expired = 0
  for (const { webhookId, upto } of await db.query(table.selectBehind, { part, day }))
    expired += await db.transaction(async (sql) => {
      const [behind] = await sql.query(table.countBehind, { part, webhookId, most: countedAtMost, upto })
      const deliveries = behind?.deliveries ?? 0
      await sql.query(expireUpTo, { part, webhookId, upto, now })
      await sql.query(tellOfAct, { part, webhookId })
      if (deliveries > 0)
        await recordAct(sql, gatewayAct(now), 'webhook.expired', `webhook:${webhookId}`, { deliveries })
      return deliveries
    })
  return expired
}

/** Where the numbers of a feed end must be known for ever. */
function moveOn(db: Sql, part: number, day: number): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.query(table.lockPart, { part })
    await sql.query(table.forgetFormer, { part, day })
    const ending = (await sql.query(table.selectEnding, { part, day })).map(({ feed }) => feed)
    const heads = await sql.query(selectHeads, { part, feeds: ending })
    const columns = { feeds: heads.map(({ feed }) => feed), heads: heads.map(({ head }) => head) }
    await sql.query(table.keepHeads, { part, day, ...columns })
    await sql.query(table.forgetDay, { part, day })
  })
}

async function dropAnswers(db: Sql, oldest: number): Promise<number> {
  const kept = await db.query(table.selectKept, { table: 'answers' })
  let dropped = 0
  for (const { day } of kept)
    if (
      day < oldest &&
      (await withLockTimeout(db, (sql) => sql.query(table.dropDay, { table: 'answers', day })))
    )
      dropped++
  return dropped
}

/**
 * Only a day of which no feed has anything: a sequencer whose clock was set back may have been at it since, and
 * waits from here on. Its part is locked and not the table: a lock on that would not reach a worker's shards.
 */
function drop(db: Sql, day: number): Promise<boolean> {
  return withLockTimeout(db, async (sql) => {
    for (const part of allParts) {
      await sql.query(table.lockPart, { part })
      if ((await sql.query(table.selectFeedOfDay, { part, day })).length > 0) throw new NotToDrop()
    }
    for (const whole of ['log', 'outcomes', 'answers']) await sql.query(table.dropDay, { table: whole, day })
    // Another node may have dropped it in the same moment.
    if ((await sql.query(table.deleteDay, { day })).length === 0) throw new NotToDrop()
  })
}

class NotToDrop extends Error {}

/** Tries so often with a short lock timeout. Answers false if the day could not be dropped this time. */
async function withLockTimeout(db: Sql, work: (sql: Sql) => Promise<unknown>): Promise<boolean> {
  for (let tried = 1; ; tried++)
    try {
      await db.transaction(async (sql) => {
        await sql.script(
          `SET LOCAL lock_timeout = ${lockTimeoutMs}; SELECT pg_advisory_xact_lock(${advisoryLocks.retention})`,
        )
        await work(sql)
      })
      return true
    } catch (error) {
      if (error instanceof NotToDrop) return false
      if (!isBlocked(error)) throw error
      if (tried === tries) return false
      await wait(pauseMs)
    }
}
