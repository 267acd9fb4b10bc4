/**
 * What is left behind is cleared away beside the traffic, in bites that hold a part for milliseconds: the deliveries of deleted
 * webhooks, and entries of the inbox that have been read.
 */
import type { Clock } from '../clock.ts'
import { type Database, statement } from '../database/database.ts'
import { clearInbox, clearReads } from './inbox.sql.ts'
import { allParts, partOf, writeToPart } from './part.ts'

const bite = 1_000

const selectDeleted = statement(
  'select_webhooks_to_clear',
  `SELECT id, branch_id FROM webhooks WHERE state = 'deleted' AND cleared_at IS NULL ORDER BY id LIMIT 1`,
)

/** By the whole index of the webhook: what is canceled leaves the queue for the day of its number. */
const cancelQueued = statement(
  'cancel_queued',
  `WITH gone AS (
     DELETE FROM queued_deliveries WHERE id = ANY (ARRAY(
       SELECT id FROM queued_deliveries WHERE webhook_id = $1 ORDER BY webhook_id, entity, urgency, id LIMIT $3)) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats, reason)
   SELECT id, webhook_id, event_id, entity, 'canceled', attempts, created_at, $2, repeats, 'webhook deleted' FROM gone RETURNING id`,
)

const noteCleared = statement('note_cleared', 'UPDATE webhooks SET cleared_at = $2 WHERE id = $1')

/** One bite; answers how much it was, 0 when nothing is left. Under the part's lock: once nothing is found, nothing comes. */
export async function clearDeletedOnce(db: Database, clock: Clock): Promise<number> {
  const [webhook] = await db.query<{ id: number; branch_id: number }>(selectDeleted)
  if (!webhook) return 0
  return writeToPart(db, partOf(webhook.branch_id), async (sql) => {
    const now = clock.now()
    const gone = await sql.query(cancelQueued, [webhook.id, now, bite])
    if (gone.length < bite) await sql.query(noteCleared, [webhook.id, now])
    return Math.max(1, gone.length)
  })
}

export interface InboxClearing {
  /** Removes what has been read; answers how much it was. */
  clear(): Promise<number>
}

/** Remembers how far it has cleared: what is dead, and cannot be removed while somebody reads a long report, is not passed again. */
export function openInboxClearing(db: Database): InboxClearing {
  const cleared = allParts.map(() => ({ xid: '0', number: 0 }))
  async function clearPart(part: number): Promise<number> {
    const from = cleared[part]!
    const entries = await db.query<{ xid: string }>(clearInbox, [part, from.xid, bite])
    const reads = await db.query<{ number: number }>(clearReads, [part, from.number])
    for (const { xid } of entries) if (BigInt(xid) > BigInt(from.xid)) from.xid = xid
    for (const { number } of reads) if (number > from.number) from.number = number
    return entries.length
  }
  return {
    async clear() {
      let removed = 0
      for (const part of allParts) {
        for (let taken = bite; taken === bite; ) {
          taken = await clearPart(part)
          removed += taken
        }
      }
      return removed
    },
  }
}
