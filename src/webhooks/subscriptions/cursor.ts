/**
 * A cursor of the engine follows the configuration of its webhook: a transaction that changes a webhook
 * changes its cursor too. What an operator changed in SQL is found each minute, and followed then.
 */

import type { Database, Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { findPresentParts } from '../events/away-parts.ts'
import { carrySoon } from '../events/carrier.ts'
import { feedOf, isDistributed, partOf } from '../events/part.ts'
import * as table from './cursors.sql.ts'

/** What a cursor has of its webhook's configuration. */
type CursorConfig = RowOf<typeof table.selectCursors>

/** `now`: by then, if it can be had. */
export async function followWebhook(
  sql: Sql,
  { id, branchId }: { readonly id: number; readonly branchId: number },
  now?: Date,
): Promise<void> {
  const [configured] = await sql.query(table.lockConfigured, { id })
  const part = partOf(branchId)
  if (now && isDistributed()) await sql.afterCommit((db) => carrySoon(db, part, now))
  if (!configured) {
    await sql.query(table.deleteCursor, { part, webhookId: id })
    return
  }
  const { isActive, mayAct, kinds, actions, address } = configured
  const wishes = { isActive, mayAct, kinds, actions, address }
  await sql.query(table.followWebhook, { part, webhookId: id, feed: feedOf(configured), ...wishes })
}

/** Answers those whose cursors were not as they are configured, and are now. */
export async function followStrays(db: Database): Promise<number[]> {
  const strays = await findStrays(db)
  for (const stray of strays) await db.transaction((sql) => followWebhook(sql, stray))
  return strays.map(({ id }) => id)
}

async function findStrays(db: Database): Promise<{ readonly id: number; readonly branchId: number }[]> {
  const strays: { id: number; branchId: number }[] = []
  const configured = await db.query(table.selectConfigured)
  const ofPart = Map.groupBy(configured, ({ branchId }) => partOf(branchId))
  for (const part of await findPresentParts(db)) {
    const cursors = new Map((await db.query(table.selectCursors, { part })).map((each) => [each.id, each]))
    for (const webhook of ofPart.get(part) ?? []) {
      const cursor = cursors.get(webhook.id)
      cursors.delete(webhook.id)
      if (!cursor || printWishes(cursor) !== printWishes(webhook)) strays.push(webhook)
    }
    // Of a branch of this part, whichever it was.
    for (const id of cursors.keys()) strays.push({ id, branchId: part })
  }
  return strays
}

function printWishes({ isActive, mayAct, kinds, actions, address }: CursorConfig): string {
  return JSON.stringify([isActive, mayAct, kinds, actions, address])
}
