/**
 * What is old leaves by whole days: a day's partitions are dropped, however much is in them. What is still unfinished then is settled as
 * expired, told and counted. A day that somebody is reading just now, a dump say, is dropped at the next turn.
 */
import { gatewayActor, recordAct } from '../audit/audit.ts'
import { after, day as dayMs } from '../clock.ts'
import { type Database, isBlocked, isMissing, type Sql, statement } from '../database/database.ts'
import { dayOf, idsADay, lastDay } from './days.ts'
import { allParts, writeToPart } from './part.ts'

const bite = 1_000
const lockPatienceMs = 200

export interface RetentionPolicy {
  readonly attemptDays: number
  readonly eventDays: number
}

type OldBy = 'id' | 'event_id'

/** From $5 to $1: what is older than the counting of days has numbers of its own below all others. */
const expiring = (by: OldBy) => `WITH gone AS (
     DELETE FROM queued_deliveries q WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM queued_deliveries WHERE ${by} >= $5 AND ${by} < $1 ORDER BY ${by} LIMIT $3))
       AND (SELECT branch_id % 16 FROM webhooks w WHERE w.id = q.webhook_id) = $4 RETURNING q.*),
   filed AS (
     INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats)
     SELECT id, webhook_id, event_id, entity, 'expired', attempts, created_at, $2, repeats FROM gone),
   freed AS (
     UPDATE queued_deliveries SET after_id = NULL, due_at = $2
     WHERE after_id = ANY (ARRAY(SELECT id FROM gone)) AND CASE WHEN ${by} >= $5 AND ${by} < $1 THEN false ELSE true END RETURNING webhook_id),
   told AS (
     UPDATE lanes SET attention_at = CASE WHEN claim_id IS NULL THEN least(attention_at, $2) ELSE attention_at END, has_news = claim_id IS NOT NULL
     WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM freed)))
   SELECT webhook_id, count(*) AS expired FROM gone GROUP BY webhook_id`

const expireQueued = {
  id: statement('expire_queued', expiring('id')),
  event_id: statement('expire_queued_of_events', expiring('event_id')),
} as const

const selectOld = {
  id: statement('select_old_queued', 'SELECT id FROM queued_deliveries WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1'),
  event_id: statement(
    'select_queued_of_old_events',
    'SELECT id FROM queued_deliveries WHERE event_id >= $1 AND event_id < $2 LIMIT 1',
  ),
} as const

/** What is to be sent again may be of an event that is older than itself. */
const selectWanted = statement(
  'select_wanted_events',
  `SELECT FROM queued_deliveries WHERE event_id >= $1 AND event_id < $2
   UNION ALL SELECT FROM inbox WHERE event_id >= $1 AND event_id < $2 LIMIT 1`,
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
): Promise<Retired> {
  const oldest = dayOf(after(now, -eventDays * dayMs))
  // A day later: an event of the last moment of a day has its place in the log of the next.
  const oldestEvents = dayOf(after(now, -(eventDays + 1) * dayMs))
  let expired = await expireBefore(db, 'id', oldest, now)
  if ((await findOldDays(db, 'events', oldestEvents)).length > 0)
    expired += await expireBefore(db, 'event_id', oldestEvents, now)
  const keys = await db.query(deleteKeys, [after(now, -eventDays * dayMs), bite])
  let days = await dropBefore(db, 'attempts', dayOf(after(now, -attemptDays * dayMs)))
  days += await dropBefore(db, 'settled_deliveries', oldest)
  days += await dropBefore(db, 'branch_log', oldest)
  days += await dropBefore(db, 'events', oldestEvents)
  return { days, expired, keys: keys.length }
}

async function expireBefore(db: Database, by: OldBy, day: number, now: Date): Promise<number> {
  const [first] = await db.query<{ day: number }>(selectFirstDay)
  // What was there before days were counted is as old as the first day.
  const range = [first!.day < day ? 0 : idsADay, day * idsADay] as const
  let expired = 0
  while ((await db.query(selectOld[by], range)).length > 0) {
    let moved = 0
    for (const part of allParts) moved += await expireIn(db, by, part, range, now)
    if (moved === 0) break
    expired += moved
  }
  return expired
}

function expireIn(
  db: Database,
  by: OldBy,
  part: number,
  [from, to]: readonly [number, number],
  now: Date,
): Promise<number> {
  return writeToPart(db, part, async (sql) => {
    const values = [to, now, bite, part, from]
    const rows = await sql.query<{ webhook_id: number; expired: number }>(expireQueued[by], values)
    for (const { webhook_id, expired } of rows)
      await recordAct(sql, gatewayActor, 'webhook.expired', `webhook:${webhook_id}`, now, { deliveries: expired })
    return rows.reduce((total, row) => total + row.expired, 0)
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
    // Somebody reads it, or another node has dropped it just now.
    if (isBlocked(error) || isMissing(error)) return false
    throw error
  }
}

/** Whoever asks for one of them again from now on waits for the lock, and finds it gone. */
async function areWanted(sql: Sql, day: number): Promise<boolean> {
  return (await sql.query(selectWanted, [day * idsADay, (day + 1) * idsADay])).length > 0
}
