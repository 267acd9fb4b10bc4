/** Sends deliveries again, by time, by entity or all that failed: a job that survives restarts and shows how far it is. */
import { type Actor, recordAct } from '../audit/audit.ts'
import { printJson } from '../cut.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict, NotFound } from '../problem.ts'
import * as table from './deliveries.sql.ts'
import { redeliverAll } from './delivery.ts'
import type { Webhook } from './webhook.ts'

const pageSize = 500
const runningAtMost = 10

export interface Selection {
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly entity?: string | undefined
  /** Only those that are exhausted. */
  readonly failed?: boolean | undefined
}

export interface Replay {
  readonly id: number
  readonly webhook_id: number
  readonly selection: Selection
  readonly state: 'running' | 'finished' | 'canceled'
  readonly total: number
  readonly done: number
  readonly created_at: Date
  readonly finished_at: Date | null
}

export async function countReplay(
  sql: Sql,
  webhook: Webhook,
  selection: Selection,
): Promise<{ total: number; until_id: number }> {
  const [count] = await sql.query<{ total: number; until_id: number }>(
    table.countChosen,
    chosenBy(webhook.id, selection),
  )
  return { total: Number(count!.total), until_id: Number(count!.until_id) }
}

export function startReplay(
  db: Database,
  webhook: Webhook,
  selection: Selection,
  by: Actor,
  now: Date,
): Promise<Replay> {
  return db.transaction(async (sql) => {
    await refuseTooMany(sql, webhook)
    const { total, until_id } = await countReplay(sql, webhook, selection)
    const chosen = printJson(selection)
    const [replay] = await sql.query<Replay>(table.insertReplay, [webhook.id, chosen, total, until_id, now])
    await recordAct(sql, by, 'webhook.replayed', `webhook:${webhook.id}`, now, { ...selection, total })
    return replay!
  })
}

async function refuseTooMany(sql: Sql, { id }: Webhook): Promise<void> {
  await sql.query(table.lockReplays, [id])
  const running = await sql.query(table.selectRunningReplays, [id])
  if (running.length >= runningAtMost)
    throw new Conflict(`This webhook has ${runningAtMost} replays running. Wait for one to finish, or cancel one.`)
}

export async function getReplay(sql: Sql, webhook: Webhook, id: number): Promise<Replay> {
  const [replay] = await sql.query<Replay>(table.selectReplay, [id, webhook.id])
  if (!replay) throw new NotFound(`This webhook has no replay ${id}.`)
  return replay
}

export function listReplays(sql: Sql, webhook: Webhook): Promise<Replay[]> {
  return sql.query<Replay>(table.selectReplays, [webhook.id])
}

/** In a transaction. One that has ended stays as it ended. */
export async function cancelReplay(sql: Sql, webhook: Webhook, id: number, by: Actor, now: Date): Promise<Replay> {
  const [canceled] = await sql.query(table.cancelReplay, [id, webhook.id, now])
  const subject = `webhook:${webhook.id}`
  if (canceled) await recordAct(sql, by, 'webhook.replay_canceled', subject, now, { replayId: id })
  return getReplay(sql, webhook, id)
}

/** Sets one page going and answers its size; 0 when no replay is running or another node is at it. */
export function advanceReplay(db: Database, now: Date): Promise<number> {
  return db.transaction(async (sql) => {
    const [replay] = await sql.query<Replay & { last_id: number; until_id: number }>(table.takeReplay)
    if (!replay) return 0
    const bounds = [replay.last_id, replay.until_id, pageSize]
    const rows = await sql.query<{ id: number }>(table.selectChosen, [
      ...chosenBy(replay.webhook_id, replay.selection),
      ...bounds,
    ])
    const ids = rows.map((row) => row.id)
    if (ids.length > 0) await redeliverAll(sql, ids, now)
    const finished = ids.length < pageSize
    await sql.query(table.advanceReplay, [replay.id, ids.length, ids.at(-1) ?? replay.last_id, finished, now])
    return Math.max(1, ids.length)
  })
}

function chosenBy(webhookId: number, { from, to, entity, failed }: Selection): unknown[] {
  const instant = (ms: number | undefined) => (ms === undefined ? null : new Date(ms))
  return [webhookId, instant(from), instant(to), entity, failed ? 'exhausted' : null]
}
