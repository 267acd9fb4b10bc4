/** Attempts and events leave by age, oldest first, in small batches that hold no lock for long. */
import { after, day } from '../clock.ts'
import { type Database, statement } from '../database/database.ts'
import { releaseBlocked } from './lanes.sql.ts'

const batchSize = 1_000

export interface RetentionPolicy {
  readonly attemptDays: number
  readonly eventDays: number
}

const deleteAttempts = statement(
  'delete_old_attempts',
  `DELETE FROM attempts WHERE id = ANY (ARRAY(
     SELECT id FROM (SELECT id, at FROM attempts ORDER BY id LIMIT $2) oldest WHERE at < $1)) RETURNING id`,
)

/** An event leaves together with its deliveries, their attempts and its place in the log. */
const deleteEvents = statement(
  'delete_old_events',
  `WITH old AS MATERIALIZED (SELECT id FROM (SELECT id, created_at FROM events ORDER BY id LIMIT $2) oldest WHERE created_at < $1),
   gone AS (DELETE FROM deliveries WHERE event_id = ANY (ARRAY(SELECT id FROM old)) RETURNING id),
   tried AS (DELETE FROM attempts WHERE delivery_id = ANY (ARRAY(SELECT id FROM gone))),
   logged AS (DELETE FROM branch_log WHERE event_id = ANY (ARRAY(SELECT id FROM old)))
   DELETE FROM events WHERE id = ANY (ARRAY(SELECT id FROM old))
   RETURNING id, ARRAY(SELECT id FROM gone) AS deliveries`,
)

const deleteKeys = statement(
  'delete_old_idempotency_keys',
  `DELETE FROM idempotency_keys WHERE (owner, key) IN (SELECT owner, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2) RETURNING key`,
)

export interface Retired {
  readonly attempts: number
  readonly events: number
  readonly keys: number
}

/** One batch of each; answers what left. */
export async function retireOnce(
  db: Database,
  { attemptDays, eventDays }: RetentionPolicy,
  now: Date,
): Promise<Retired> {
  const attempts = await db.query(deleteAttempts, [after(now, -attemptDays * day), batchSize])
  const events = await retireEvents(db, after(now, -eventDays * day), now)
  const keys = await db.query(deleteKeys, [after(now, -eventDays * day), batchSize])
  return { attempts: attempts.length, events, keys: keys.length }
}

/** What waited behind a delivery that left need not wait any more. */
function retireEvents(db: Database, before: Date, now: Date): Promise<number> {
  return db.transaction(async (sql) => {
    const rows = await sql.query<{ deliveries: number[] }>(deleteEvents, [before, batchSize])
    if (rows.length > 0) await sql.query(releaseBlocked, [rows[0]!.deliveries, now])
    return rows.length
  })
}
