/**
 * From event to deliveries. Events commit in any order and in parallel, inside whatever transaction published them; one
 * dispatcher at a time, on whichever node, takes them from the inbox, numbers them without a gap for their branch, and
 * creates a delivery for each webhook, in entity order. What a crash interrupts is rolled back and taken again.
 */
import { type Database, statement } from '../database/database.ts'
import * as table from './dispatch.sql.ts'

/** Few enough that the first of many is sent while the last is still waiting here. */
const eventsAtOnce = 100
const wakeWorkers = statement('wake_workers', "SELECT pg_notify('countersign_work', 'delivery')")

/** Answers how many events it took; 0 when there are none or another node is at it. */
export function dispatchOnce(db: Database, now: Date): Promise<number> {
  return db.transaction(async (sql) => {
    const [lock] = await sql.query<{ locked: boolean }>(table.tryLockDispatch)
    if (!lock?.locked) return 0
    const events = await sql.query<{ id: number }>(table.numberEvents, [eventsAtOnce])
    if (events.length === 0) return 0
    const ids = events.map((event) => event.id)
    await sql.query(table.lockTails, [ids])
    await sql.query(table.createDeliveries, [ids, now])
    await sql.query(wakeWorkers)
    return events.length
  })
}
