/**
 * What is old leaves by whole days (range partitions): a day's partitions are dropped, however much is in them. What is still unfinished
 * then is settled as expired, told and counted. A day that somebody is reading just now, a dump say, is dropped at the next turn.
 */
import { gatewayActor, recordAct } from '../audit/audit.ts'
import { after, type Clock, day as dayMs } from '../clock.ts'
import { type Database, isBlocked, isMissing, type Sql, type Statement, statement } from '../database/database.ts'
import { dayOf, idsADay, lastDay } from './days.ts'
import { joinBehind, tellLanes } from './lanes.sql.ts'
import { writeToPart } from './part.ts'

const bite = 1_000
const lockPatienceMs = 200

export interface RetentionPolicy {
  readonly attemptDays: number
  readonly eventDays: number
}

/** From $1 to $2: what is older than the counting of days has numbers of its own below all others. */
const oldBy = (column: 'id' | 'event_id') =>
  `SELECT q.id, w.branch_id % 16 AS part FROM queued_deliveries q JOIN webhooks w ON w.id = q.webhook_id
   WHERE q.${column} >= $1 AND q.${column} < $2 ORDER BY q.${column} LIMIT $3`

const selectOld = statement('select_old_queued', oldBy('id'))

/** Looks through all that is unfinished: once a day. A delivery may be younger than its event by as much as somebody has it sent again. */
const selectOfOldEvents = statement('select_queued_of_old_events', oldBy('event_id'))

const expireQueued = statement(
  'expire_queued',
  `WITH gone AS (DELETE FROM queued_deliveries WHERE id = ANY ($1::bigint[]) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats)
   SELECT id, webhook_id, event_id, entity, 'expired', attempts, created_at, $2, repeats FROM gone RETURNING id, webhook_id`,
)

/**
 * What is to be sent again may be of an event that is older than itself. What the dispatcher has read is not wanted any more, though it may
 * stay in the inbox for as long as its part is quiet.
 */
const selectWanted = statement(
  'select_wanted_events',
  `SELECT FROM queued_deliveries WHERE event_id >= $1 AND event_id < $2
   UNION ALL SELECT FROM inbox i JOIN inbox_reads r ON r.part = i.part AND r.number = (SELECT max(number) FROM inbox_reads o WHERE o.part = r.part)
     WHERE i.event_id >= $1 AND i.event_id < $2 AND (i.xid >= pg_snapshot_xmax(r.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(r.read))))
       AND (r.at_xid IS NULL OR (i.xid, i.id) > (r.at_xid, r.at_id))
   LIMIT 1`,
)

const selectKept = statement(
  'select_partitions',
  `SELECT substring(child.relname FROM '_d(\\d+)$')::int AS day FROM pg_inherits i
   JOIN pg_class child ON child.oid = i.inhrelid WHERE i.inhparent = $1::regclass ORDER BY 1`,
)

/** Before the first is opened nothing is old. */
const selectFirstDay = statement('select_first_day', `SELECT coalesce(min(day), ${lastDay}) AS day FROM days`)

const dropDay = statement('drop_day', 'SELECT drop_day($1, $2)')

const closeLogDay = statement(
  'close_log_day',
  `UPDATE branch_days d SET last = coalesce((
     SELECT max(sequence) FROM branch_log l WHERE l.branch_id = d.branch_id AND l.environment = d.environment AND l.day = d.day), d.first - 1)
   WHERE d.day = $1 AND d.last IS NULL`,
)

/** Where a branch's numbers end must be known for ever: its newest day stays. */
const forgetLogDay = statement(
  'forget_log_day',
  `DELETE FROM branch_days d WHERE d.day <= $1 AND EXISTS (
     SELECT FROM branch_days later WHERE later.branch_id = d.branch_id AND later.environment = d.environment AND later.day > d.day)`,
)

/** The numbers of a branch of which nothing is kept begin after its last. */
const emptyLogDay = statement(
  'empty_log_day',
  'UPDATE branch_days SET first = last + 1 WHERE day <= $1 AND last IS NOT NULL',
)

const deleteKeys = statement(
  'delete_old_idempotency_keys',
  `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency_keys WHERE created_at < $1 LIMIT $2)) RETURNING key`,
)

export interface Retired {
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
  let expired = await expireAll(db, selectOld, oldest, clock)
  const keys = await db.query(deleteKeys, [after(now, -eventDays * dayMs), bite])
  let days = await dropBefore(db, 'attempts', dayOf(after(now, -attemptDays * dayMs)))
  days += await dropBefore(db, 'settled_deliveries', oldest)
  days += await dropBefore(db, 'branch_log', oldest)
  if ((await findOldDays(db, 'events', oldestEvents)).length > 0) {
    expired += await expireAll(db, selectOfOldEvents, oldestEvents, clock)
    days += await dropBefore(db, 'events', oldestEvents)
  }
  return { days, expired, keys: keys.length }
}

interface Old {
  readonly id: number
  readonly part: number
}

async function expireAll(db: Database, select: Statement, day: number, clock: Clock): Promise<number> {
  const [first] = await db.query<{ day: number }>(selectFirstDay)
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
    const gone = await sql.query<{ id: number; webhook_id: number }>(expireQueued, [ids, now])
    const byWebhook = Map.groupBy(gone, (row) => row.webhook_id)
    await sql.query(joinBehind, [gone.map((row) => row.id), now])
    await sql.query(tellLanes, [[...byWebhook.keys()], now])
    for (const [webhookId, { length }] of byWebhook)
      await recordAct(sql, gatewayActor, 'webhook.expired', `webhook:${webhookId}`, now, { deliveries: length })
    return gone.length
  })
}

type Table = 'events' | 'settled_deliveries' | 'branch_log' | 'attempts'

async function findOldDays(db: Database, table: Table, oldest: number): Promise<number[]> {
  const [first] = await db.query<{ day: number }>(selectFirstDay)
  const kept = (await db.query<{ day: number }>(selectKept, [table])).map((row) => row.day)
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
      if (table === 'branch_log') await sql.query(closeLogDay, [day])
      await sql.script(
        `SET LOCAL lock_timeout = ${lockPatienceMs}; LOCK TABLE ${table}_d${day} IN ACCESS EXCLUSIVE MODE`,
      )
      if (table === 'events' && (await areWanted(sql, day))) return false
      await sql.query(dropDay, [table, day])
      if (table !== 'branch_log') return true
      await sql.query(forgetLogDay, [day])
      await sql.query(emptyLogDay, [day])
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
  return (await sql.query(selectWanted, [day * idsADay, (day + 1) * idsADay])).length > 0
}
