/** Sends deliveries again, by time, by entity or all that failed: a job that survives restarts and shows how far it is. */
import { type Act, recordAct } from '../audit/audit.ts'
import { printJson } from '../cut.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict, NotFound } from '../problem.ts'
import { dayOf, dayOfId } from './days.ts'
import * as table from './deliveries.sql.ts'
import { countGivenUp, selectGivenUp } from './recoveries.sql.ts'
import type { Webhook } from './webhook.ts'

const pageSize = 50
const runningAtMost = 10
/** Of a webhook, to be sent again. */
const waitingAtMost = 1_000

export interface Selection {
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly entity?: string | undefined
  /** Only those that are exhausted. */
  readonly failed?: boolean | undefined
  /** A recovery: what was given up since this moment, and nothing else. */
  readonly since?: number | undefined
}

export interface Replay {
  readonly id: number
  readonly webhookId: number
  readonly selection: Selection
  readonly state: 'running' | 'finished' | 'canceled'
  readonly total: number
  readonly done: number
  /** Of a recovery: how many that waited for their next attempt were made due. */
  readonly pulled: number
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

interface Chosen {
  readonly total: number
  /** What is created later does not belong to it. */
  readonly untilId: number
}

/** Day by day, by an index that holds nothing else: however many there are, no statement takes long. */
export async function countReplay(sql: Sql, webhook: Webhook, selection: Selection): Promise<Chosen> {
  const [newest] = await sql.query<{ id: number }>(table.selectNewest, [webhook.id, Number.MAX_SAFE_INTEGER])
  const untilId = newest!.id
  let total = 0
  for (const day of await listDays(sql, selection, 0, untilId)) {
    const count = statementsOf(selection).count(day)
    const [row] = await sql.query<{ total: number }>(count, chosenBy(webhook.id, selection, 0, untilId))
    total += row!.total
  }
  return { total, untilId }
}

/** A delivery is created on the day of its number. */
async function listDays(sql: Sql, { from, to }: Selection, afterId: number, untilId: number): Promise<number[]> {
  const first = Math.max(dayOfId(afterId), from === undefined ? 0 : dayOf(new Date(from)))
  const last = Math.min(dayOfId(untilId), to === undefined ? Number.MAX_SAFE_INTEGER : dayOf(new Date(to)))
  const rows = await sql.query<{ day: number }>(table.selectDays, [first, last])
  return rows.map((row) => row.day).filter((day) => day > 0 || dayOfId(afterId) === 0)
}

export function startReplay(db: Database, webhook: Webhook, selection: Selection, act: Act): Promise<Replay> {
  return db.transaction(async (sql) => {
    await refuseTooMany(sql, webhook)
    const { total, untilId } = await countReplay(sql, webhook, selection)
    const replay = await addReplay(sql, webhook, selection, { total, untilId, pullUntil: undefined }, act.at)
    await recordAct(sql, act, 'webhook.replayed', `webhook:${webhook.id}`, { ...selection, total })
    return replay
  })
}

/** `pullUntil`: it begins by having tried what waits, up to this number. */
export async function addReplay(
  sql: Sql,
  webhook: Webhook,
  selection: Selection,
  { total, untilId, pullUntil }: Chosen & { readonly pullUntil: number | undefined },
  now: Date,
): Promise<Replay> {
  const values = [webhook.id, printJson(selection), total, untilId, now, pullUntil]
  const [replay] = await sql.query<Replay>(table.insertReplay, values)
  return replay!
}

/** In a transaction. Whoever comes second waits, and sees what the first has started. */
export async function lockReplays(sql: Sql, { id }: Webhook): Promise<void> {
  await sql.query(table.lockReplays, [id])
}

async function refuseTooMany(sql: Sql, webhook: Webhook): Promise<void> {
  await lockReplays(sql, webhook)
  const refusal = await findReplayRefusal(sql, webhook)
  if (refusal !== undefined) throw new Conflict(refusal)
}

/** Why none can be started just now: who offers one asks first. */
export async function findReplayRefusal(sql: Sql, { id }: Webhook): Promise<string | undefined> {
  const running = await sql.query(table.selectRunningReplays, [id])
  if (running.length < runningAtMost) return undefined
  return `This webhook has ${runningAtMost} replays running. Wait for one to finish, or cancel one.`
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
export async function cancelReplay(sql: Sql, webhook: Webhook, id: number, act: Act): Promise<Replay> {
  const [canceled] = await sql.query(table.cancelReplay, [id, webhook.id, act.at])
  const subject = `webhook:${webhook.id}`
  if (canceled) await recordAct(sql, act, 'webhook.replay_canceled', subject, { replayId: id })
  return getReplay(sql, webhook, id)
}

export async function hasRunningReplays(sql: Sql): Promise<boolean> {
  return (await sql.query(table.selectRunning)).length > 0
}

/** Asks for one page of the replay whose turn it is and answers its size; 0 when none can go on or another node is at it. */
export function advanceReplay(db: Database, now: Date): Promise<number> {
  return db.transaction(async (sql) => {
    const [replay] = await sql.query<RunningReplay>(table.takeReplay, [waitingAtMost])
    if (!replay) return 0
    const ids = await selectPage(sql, replay)
    if (ids.length > 0) await sql.query(table.requestRepeats, [ids, replay.id])
    const finished = ids.length < pageSize
    await sql.query(table.advanceReplay, [replay.id, ids.length, ids.at(-1) ?? replay.lastId, finished, now])
    return Math.max(1, ids.length)
  })
}

interface RunningReplay extends Replay {
  readonly lastId: number
  readonly untilId: number
}

async function selectPage(sql: Sql, { webhookId, selection, lastId, untilId }: RunningReplay): Promise<number[]> {
  const ids: number[] = []
  for (const day of await listDays(sql, selection, lastId, untilId)) {
    const select = statementsOf(selection).select(day)
    const values = [...chosenBy(webhookId, selection, lastId, untilId), pageSize - ids.length]
    ids.push(...(await sql.query<{ id: number }>(select, values)).map((row) => row.id))
    if (ids.length === pageSize) break
  }
  return ids
}

function statementsOf({ failed, since }: Selection) {
  if (since !== undefined) return { count: countGivenUp, select: selectGivenUp }
  return failed
    ? { count: table.countFailed, select: table.selectFailed }
    : { count: table.countChosen, select: table.selectChosen }
}

function chosenBy(
  webhookId: number,
  { from, to, entity, since }: Selection,
  afterId: number,
  untilId: number,
): unknown[] {
  const instant = (ms: number | undefined) => (ms === undefined ? null : new Date(ms))
  if (since !== undefined) return [webhookId, afterId, untilId, instant(since)]
  return [webhookId, afterId, untilId, instant(from), instant(to), entity]
}
