/**
 * After a receiver was mended: what waits for its next attempt is tried now, a probe goes out at once where the breaker is open, and what was given up
 * since a moment is sent again. It is a replay that begins by pulling forward: in bites, in turns with all others, and counted.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict } from '../problem.ts'
import { breakerThreshold } from './lane.ts'
import { lockPart } from './part.sql.ts'
import { partOf } from './part.ts'
import * as table from './recoveries.sql.ts'
import { addReplay, countReplay, findReplayRefusal, lockReplays, type Replay } from './replay.ts'
import { setWebhookState, type Webhook } from './webhook.ts'
import { countedAtMost } from './webhook-health.ts'

const bite = 1_000

export interface RecoveryCount {
  /** What was given up, and would be sent again. */
  readonly total: number
  /** What waits for its next attempt, and would be tried now; counted up to a bound. */
  readonly waiting: number
}

export async function countRecovery(sql: Sql, webhook: Webhook, since: Date, now: Date): Promise<RecoveryCount> {
  const { total } = await countReplay(sql, webhook, { since: since.getTime() })
  const [later] = await sql.query<{ waiting: number }>(table.countLater, [webhook.id, now, countedAtMost])
  return { total, waiting: later!.waiting }
}

/** One that was switched off because it failed is switched on again; one that its owner paused is the owner's to resume. */
export function startRecovery(db: Database, webhook: Webhook, since: Date, act: Act): Promise<Replay> {
  return db.transaction(async (sql) => {
    await lockReplays(sql, webhook)
    const refusal = await findRecoveryRefusal(sql, webhook)
    if (refusal !== undefined) throw new Conflict(refusal)
    const joined: Database = { ...db, ...sql, transaction: (work) => work(sql) }
    if (webhook.state === 'disabled') await setWebhookState(joined, webhook, 'active', act)
    const selection = { since: since.getTime() }
    const { total, untilId } = await countReplay(sql, webhook, selection)
    const [newest] = await sql.query<{ id: number }>(table.selectNewestQueued, [webhook.id])
    const replay = await addReplay(sql, webhook, selection, { total, untilId, pullUntil: newest!.id }, act.at)
    await recordAct(sql, act, 'webhook.recovered', `webhook:${webhook.id}`, { ...selection, total })
    return replay
  })
}

/** Why none can be started just now: who offers one asks first. */
export async function findRecoveryRefusal(sql: Sql, webhook: Webhook): Promise<string | undefined> {
  if (webhook.state === 'paused') return 'This webhook is paused. Resume it, then recover.'
  const [running] = await sql.query(table.selectRunningRecovery, [webhook.id])
  if (running) return 'This webhook is being recovered already. Wait until that is done, or stop it.'
  return findReplayRefusal(sql, webhook)
}

interface Pull {
  readonly id: number
  readonly webhookId: number
  readonly branchId: number
  readonly pullFrom: number
  readonly pullUntil: number
}

/** One bite, of the recovery whose turn it is or of the one that is named; 0 when there is none or another node is at it. */
export function pullOnce(db: Database, clock: Clock, replayId?: number): Promise<number> {
  return db.transaction(async (sql) => {
    const [pull] = await sql.query<Pull>(table.takePull, [replayId])
    if (!pull) return 0
    await sql.query(lockPart, [partOf(pull.branchId)])
    return takeBite(sql, pull, clock.now())
  })
}

async function takeBite(sql: Sql, pull: Pull, now: Date): Promise<number> {
  const { id, webhookId, pullFrom, pullUntil } = pull
  const [bitten] = await sql.query<{ looked: number; reached: number; pulled: number }>(table.pullBite, [
    ...[webhookId, now, pullFrom, pullUntil, bite, pullFrom === 0, breakerThreshold],
  ])
  const { looked, reached, pulled } = bitten!
  await sql.query(table.advancePull, [id, pulled, reached, looked < bite, now])
  return Math.max(1, looked)
}
