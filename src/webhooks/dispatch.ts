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

export interface DispatchMade {
  /** By `performance.now()`. */
  readonly startedMs: number
  readonly endedMs: number
  /** The spans under which the events were published, and how many of them under each. */
  readonly publishes: readonly { readonly traceparent: string; readonly events: number }[]
}

/** Takes at most so many events and answers how many they were; 0 when there are none or another node is at it. */
export async function dispatchOnce(
  db: Database,
  now: Date,
  most: number,
  traced?: (dispatch: DispatchMade) => void,
): Promise<number> {
  const startedMs = performance.now()
  const ids = await dispatchTogether(db, now, most)
  if (traced && ids.length > 0) {
    const endedMs = performance.now()
    // What was dispatched stays so, whether or not it can be traced.
    const publishes = await db.query<DispatchMade['publishes'][number]>(table.selectPublishes, [ids]).catch(() => [])
    traced({ startedMs, endedMs, publishes })
  }
  return ids.length
}

function dispatchTogether(db: Database, now: Date, most: number): Promise<number[]> {
  return db.transaction(async (sql) => {
    const [lock] = await sql.query<{ locked: boolean }>(table.tryLockDispatch)
    if (!lock?.locked) return []
    const events = await sql.query<{ id: number }>(table.numberEvents, [most])
    if (events.length === 0) return []
    const ids = events.map((event) => event.id)
    await sql.query(table.lockTails, [ids])
    const webhooks = await sql.query<{ webhook_id: number }>(table.createDeliveries, [ids, now, breakerThreshold])
    await sql.query(wakeWorkers, [printNews(webhooks.map((row) => row.webhook_id))])
    return ids
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
