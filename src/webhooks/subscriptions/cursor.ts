/**
 * A cursor of the engine follows the configuration of its webhook: whoever changes a webhook has it follow in the same transaction. What was changed by
 * a hand in SQL is found each minute, and followed then.
 */
import type { Database, Sql } from '../../database/database.ts'
import type { Environment } from '../../environment.ts'
import { allParts, feedOf, partOf } from '../events/part.ts'
import * as table from './cursors.sql.ts'

interface Configured {
  readonly id: number
  readonly branchId: number
  readonly environment: Environment
  readonly isActive: boolean
  readonly mayAct: boolean
  readonly kinds: readonly string[]
  readonly actions: unknown
}

type Followed = Pick<Configured, 'id' | 'isActive' | 'mayAct' | 'kinds' | 'actions'>

export async function followWebhook(
  sql: Sql,
  { id, branchId }: { readonly id: number; readonly branchId: number },
): Promise<void> {
  const [configured] = await sql.query<Configured>(table.lockConfigured, [id])
  const part = partOf(branchId)
  if (!configured) {
    await sql.query(table.deleteCursor, [part, id])
    return
  }
  const { isActive, mayAct, kinds, actions } = configured
  await sql.query(table.followWebhook, [part, id, feedOf(configured), isActive, mayAct, kinds, actions])
}

/** Answers those whose cursors were not as they are configured, and are now. */
export async function followStrays(db: Database): Promise<number[]> {
  const strays = await findStrays(db)
  for (const stray of strays) await db.transaction((sql) => followWebhook(sql, stray))
  return strays.map(({ id }) => id)
}

async function findStrays(sql: Sql): Promise<{ readonly id: number; readonly branchId: number }[]> {
  const strays: { id: number; branchId: number }[] = []
  const configured = await sql.query<Configured>(table.selectConfigured)
  const ofPart = Map.groupBy(configured, ({ branchId }) => partOf(branchId))
  for (const part of allParts) {
    const cursors = new Map((await sql.query<Followed>(table.selectCursors, [part])).map((each) => [each.id, each]))
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

function printWishes({ isActive, mayAct, kinds, actions }: Followed): string {
  return JSON.stringify([isActive, mayAct, kinds, actions])
}
