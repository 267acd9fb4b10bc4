/**
 * After a receiver was mended: what waits for its next attempt is tried now, a probe goes out at once where
 * the breaker is open, and what was given up since a moment is sent again, by a replay.
 */
import { type Act, recordAct } from '../../audit/audit.ts'
import type { Sql } from '../../database/database.ts'
import { Conflict } from '../../problem.ts'
import * as acts from '../engine/cursor-acts.sql.ts'
import { partOf } from '../events/part.ts'
import { setWebhookState, type Webhook } from '../subscriptions/webhook.ts'
import { countLater } from './recoveries.sql.ts'
import {
  addReplay,
  counted,
  countReplay,
  findReplayRefusal,
  hasRunningRecovery,
  lockReplays,
  type Replay,
} from './replay.ts'

export interface RecoveryCount {
  /** What was given up, and would be sent again; null where it is more than is counted. */
  readonly total: number | null
  /** What waits for its next attempt, and would be tried now. */
  readonly waiting: number
}

export async function countRecovery(
  sql: Sql,
  webhook: Webhook,
  since: Date,
  now: Date,
): Promise<RecoveryCount> {
  const { total } = await countReplay(sql, webhook, { since: since.getTime() })
  const later = await sql.one(countLater, {
    part: partOf(webhook.branchId),
    webhookId: webhook.id,
    now,
  })
  return { total, waiting: later.waiting }
}

/**
 * One that was switched off because it failed is switched on again; one that its owner paused is the owner's
 * to resume.
 */
export async function startRecovery(db: Sql, webhook: Webhook, since: Date, act: Act): Promise<Replay> {
  const selection = { since: since.getTime() }
  const chosen = await countReplay(db, webhook, selection)
  return db.transaction(async (sql) => {
    await lockReplays(sql, webhook)
    const refusal = await findRecoveryRefusal(sql, webhook)
    if (refusal !== undefined) throw new Conflict(refusal)
    if (webhook.state === 'disabled') await setWebhookState(sql, webhook, 'active', act)
    const values = { part: partOf(webhook.branchId), webhookId: webhook.id, now: act.at }
    const pulled = await sql.one(acts.hurryCursor, values)
    const replay = await addReplay(sql, webhook, selection, { ...chosen, pulled: pulled.hurried }, act.at)
    await recordAct(sql, act, 'webhook.recovered', `webhook:${webhook.id}`, {
      ...selection,
      ...counted(chosen.total),
    })
    return replay
  })
}

/** Why none can be started just now: a page that offers one asks first. */
export async function findRecoveryRefusal(sql: Sql, webhook: Webhook): Promise<string | undefined> {
  if (webhook.state === 'paused') return 'This webhook is paused. Resume it, then recover.'
  if (await hasRunningRecovery(sql, webhook))
    return 'This webhook is being recovered already. Wait until that is done, or stop it.'
  return findReplayRefusal(sql, webhook)
}
