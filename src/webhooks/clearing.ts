/**
 * What is left behind is cleared away beside the traffic, in bites (chunked) that hold a part for milliseconds: the deliveries of
 * deleted webhooks, and entries of the inbox that have been read.
 */
import type { Clock } from '../clock.ts'
import { type Database, statement } from '../database/database.ts'
import { clearInbox, clearReads } from './inbox.sql.ts'
import { allParts, lockPart, partOf } from './part.ts'
import { ownerOf, placeOf } from './queue-key.ts'

const bite = 1_000

const toBeCleared = `state = 'deleted' AND cleared_at IS NULL`
export const areToBeCleared = `EXISTS (SELECT FROM webhooks WHERE ${toBeCleared})`

const selectDeleted = statement(
  'select_webhooks_to_clear',
  `SELECT id, branch_id FROM webhooks WHERE ${toBeCleared} ORDER BY id LIMIT 1`,
)

/** From $4 on, where they lie: what is canceled leaves the queue for the day of its number. */
const cancelQueued = statement(
  'cancel_queued',
  `WITH gone AS (
     DELETE FROM queued_deliveries WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM queued_deliveries q WHERE (${ownerOf('q')}, ${placeOf('q')}) > ($1, $4::bigint) AND ${ownerOf('q')} = $1
       ORDER BY ${ownerOf('q')}, ${placeOf('q')} LIMIT $3)) RETURNING *)
   INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at, repeats, reason)
   SELECT id, webhook_id, event_id, entity, 'canceled', attempts, created_at, $2, repeats, 'webhook deleted' FROM gone RETURNING id`,
)

/** One node at a time: more would only keep the part from those who deliver. */
const tryToClear = statement('try_to_clear', 'SELECT pg_try_advisory_xact_lock(7267106) AS locked')

const noteCleared = statement('note_cleared', 'UPDATE webhooks SET cleared_at = $2 WHERE id = $1')

export interface DeletedClearing {
  /** One bite; answers how much it was, 0 when nothing is left or another node is at it. Under the part's lock: once nothing is found, nothing comes. */
  clearOnce(): Promise<number>
}

/** Remembers how far it is, so that no bite passes what the bites before it have removed. */
export function openDeletedClearing(db: Database, clock: Clock): DeletedClearing {
  let reached = { webhookId: 0, id: 0 }
  return {
    async clearOnce() {
      const [webhook] = await db.query<{ id: number; branch_id: number }>(selectDeleted)
      if (!webhook) return 0
      const from = reached.webhookId === webhook.id ? reached.id : 0
      return db.transaction(async (sql) => {
        const [turn] = await sql.query<{ locked: boolean }>(tryToClear)
        if (!turn!.locked) return 0
        await sql.query(lockPart, [partOf(webhook.branch_id)])
        const now = clock.now()
        const gone = await sql.query<{ id: number }>(cancelQueued, [webhook.id, now, bite, from])
        const isLast = gone.length < bite
        if (isLast && from === 0) await sql.query(noteCleared, [webhook.id, now])
        reached = { webhookId: webhook.id, id: isLast ? 0 : Math.max(...gone.map((row) => row.id)) }
        return Math.max(1, gone.length)
      })
    },
  }
}

export interface InboxClearing {
  /** Removes what this node has read since; answers how much it was. */
  clear(): Promise<number>
  /** And what others may have left behind. */
  clearAll(): Promise<number>
}

/** Remembers how far it has cleared: what is dead, and cannot be removed while somebody reads a long report, is not passed again. */
export function openInboxClearing(db: Database, readParts = new Set<number>()): InboxClearing {
  const cleared = allParts.map(() => ({ xid: '0', number: 0 }))
  async function clearPart(part: number): Promise<number> {
    const from = cleared[part]!
    const entries = await db.query<{ xid: string }>(clearInbox, [part, from.xid, bite])
    const reads = await db.query<{ number: number }>(clearReads, [part, from.number])
    for (const { xid } of entries) if (BigInt(xid) > BigInt(from.xid)) from.xid = xid
    for (const { number } of reads) if (number > from.number) from.number = number
    return entries.length
  }
  async function clearParts(parts: readonly number[]): Promise<number> {
    let removed = 0
    for (const part of parts) {
      readParts.delete(part)
      for (let taken = bite; taken === bite; ) {
        taken = await clearPart(part)
        removed += taken
      }
    }
    return removed
  }
  return {
    clear: () => clearParts([...readParts]),
    clearAll: () => clearParts(allParts),
  }
}
