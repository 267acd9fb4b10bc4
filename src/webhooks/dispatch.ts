/**
 * From event to deliveries. Events commit in any order and in parallel, inside whatever transaction published them; one
 * dispatcher at a time, on whichever node, takes them from the inbox, numbers them without a gap for their branch, and
 * creates a delivery for each webhook, in entity order. What a crash interrupts is rolled back and taken again.
 */
import { type Database, statement } from '../database/database.ts'
import * as table from './dispatch.sql.ts'
import { breakerThreshold } from './lane.ts'

const wakeWorkers = statement('wake_workers', "SELECT pg_notify('countersign_work', $1)")
/** PostgreSQL takes 8,000 bytes. */
const newsBytesAtMost = 7_000

/** Takes at most so many events and answers how many they were; 0 when there are none or another node is at it. */
export function dispatchOnce(db: Database, now: Date, most: number): Promise<number> {
  return db.transaction(async (sql) => {
    const [lock] = await sql.query<{ locked: boolean }>(table.tryLockDispatch)
    if (!lock?.locked) return 0
    const events = await sql.query<{ id: number }>(table.numberEvents, [most])
    if (events.length === 0) return 0
    const ids = events.map((event) => event.id)
    await sql.query(table.lockTails, [ids])
    const webhooks = await sql.query<{ webhook_id: number }>(table.createDeliveries, [ids, now, breakerThreshold])
    await sql.query(wakeWorkers, [printNews(webhooks.map((row) => row.webhook_id))])
    return events.length
  })
}

/** For the workers: whose deliveries were created. */
function printNews(webhookIds: readonly number[]): string {
  const news = `delivery ${webhookIds.join(' ')}`
  return news.length <= newsBytesAtMost ? news : 'delivery'
}

/** The webhooks that news is about; undefined when it may be any. */
export function readNews(news: string): number[] | undefined {
  const [, ...ids] = news.split(' ')
  return ids.length === 0 ? undefined : ids.filter((id) => id !== '').map(Number)
}
