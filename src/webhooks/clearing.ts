/**
 * What is left behind is cleared away beside the traffic, in bites (chunked) that hold a part for milliseconds: the deliveries of
 * deleted webhooks, and entries of the inbox that have been read.
 */
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import * as table from './clearing.sql.ts'
import { clearInbox, clearReads } from './inbox.sql.ts'
import { lockPart } from './part.sql.ts'
import { allParts, partOf } from './part.ts'

/** Of deliveries, which hold up their part. */
const deletedBite = 200
/** Of entries that have been read: they hold up nobody. */
const readBite = 1_000

export interface DeletedClearing {
  /** One bite; answers how much it was, 0 when nothing is left or another node is at it. Under the part's lock: once nothing is found, nothing comes. */
  clearOnce(): Promise<number>
}

/** Remembers how far it is, so that no bite passes what the bites before it have removed. */
export function openDeletedClearing(db: Database, clock: Clock): DeletedClearing {
  let reached = { webhookId: 0, id: 0 }
  return {
    async clearOnce() {
      const [webhook] = await db.query<{ id: number; branchId: number }>(table.selectDeleted)
      if (!webhook) return 0
      const from = reached.webhookId === webhook.id ? reached.id : 0
      return db.transaction(async (sql) => {
        const [turn] = await sql.query<{ locked: boolean }>(table.tryToClear)
        if (!turn!.locked) return 0
        await sql.query(lockPart, [partOf(webhook.branchId)])
        const now = clock.now()
        const gone = await sql.query<{ id: number }>(table.cancelQueued, [webhook.id, now, deletedBite, from])
        const isLast = gone.length < deletedBite
        if (isLast && from === 0) await sql.query(table.noteCleared, [webhook.id, now])
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
    const entries = await db.query<{ xid: string }>(clearInbox, [part, from.xid, readBite])
    const reads = await db.query<{ number: number }>(clearReads, [part, from.number])
    for (const { xid } of entries) if (BigInt(xid) > BigInt(from.xid)) from.xid = xid
    for (const { number } of reads) if (number > from.number) from.number = number
    return entries.length
  }
  async function clearParts(parts: readonly number[]): Promise<number> {
    let removed = 0
    for (const part of parts) {
      readParts.delete(part)
      for (let taken = readBite; taken === readBite; ) {
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
