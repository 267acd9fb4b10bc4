/** An answer that disables its webhook is told at once; that it is disabled is written beside it, a moment later. */
import type { Sql } from '../../src/database/database.ts'
import { ask } from './ask.ts'
import { eventually } from './eventually.ts'

export async function untilDisabled(db: Pick<Sql, 'query'>, webhookId: number): Promise<void> {
  await eventually('a disabled webhook', async () => {
    const [row] = await ask<{ state: string }>(db, 'SELECT state FROM webhooks WHERE id = $1', [webhookId])
    return row?.state === 'disabled'
  })
}
