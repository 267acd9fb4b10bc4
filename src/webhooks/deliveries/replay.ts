/**
 * Sends deliveries again, by time, by entity or all that failed: a cursor of its own beside the webhook's,
 * which its lane moves on and shows how far it is.
 */

import { type Act, recordAct } from '../../audit/audit.ts'
import type { Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { Conflict, NotFound } from '../../problem.ts'
import * as acts from '../engine/cursor-acts.sql.ts'
import { logOf } from '../events/branch-log.ts'
import { partOf } from '../events/part.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { findFirstSince } from './delivery-search.ts'
import * as table from './replays.sql.ts'

const runningAtMost = 10
/** More than these are not looked at to be counted. */
export const replayedAtMost = 10_000

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
  /** Its round: of a webhook it names one. */
  readonly id: number
  readonly webhookId: number
  readonly selection: Selection
  readonly state: 'running' | 'finished' | 'canceled'
  /** How many it chose; null where it would have taken too long to count them. */
  readonly total: number | null
  readonly done: number
  /** Of a recovery: how many that waited for their next attempt were made due. */
  readonly pulled: number
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

type ReplayedWebhook = Pick<Webhook, 'id' | 'branchId' | 'environment'>

/** What a replay would send. */
interface ReplayChoice {
  /** The number that it begins at; undefined where there is nothing for it. */
  readonly first: number | undefined
  /** Null where there is more than is looked at: however large the choice is, it costs the same. */
  readonly total: number | null
}

export async function countReplay(
  sql: Sql,
  webhook: ReplayedWebhook,
  selection: Selection,
): Promise<ReplayChoice> {
  const first = await findFirst(sql, webhook, selection)
  if (first === undefined) return { first, total: 0 }
  return { first, total: await countFrom(sql, webhook, selection, first) }
}

async function findFirst(sql: Sql, webhook: ReplayedWebhook, { from, failed, since }: Selection) {
  const earliest = from === undefined ? 1 : await findFirstSince(sql, logOf(webhook), new Date(from))
  if (!failed && since === undefined) return earliest
  const [first] = await sql.query(table.selectFirstGivenUp, {
    part: partOf(webhook.branchId),
    webhookId: webhook.id,
  })
  return first && Math.max(earliest, first.seq)
}

async function countFrom(sql: Sql, webhook: ReplayedWebhook, selection: Selection, first: number) {
  const chosen = chosenBy(selection)
  const isWhole = chosen.entity === undefined && !chosen.failed
  if (isWhole && (await spanFrom(sql, webhook, first, selection.to)) > replayedAtMost) return null
  const place = { ...logOf(webhook), webhookId: webhook.id, first }
  const found = await sql.one(chooseCount(selection), { ...place, ...chosen, most: replayedAtMost + 1 })
  return found.looked > replayedAtMost ? null : found.total
}

/** How many entries lie between, wanted or not. */
async function spanFrom(
  sql: Sql,
  webhook: ReplayedWebhook,
  first: number,
  to: number | undefined,
): Promise<number> {
  const { part, feed } = logOf(webhook)
  const [kept] = await sql.query(table.selectSpan, { part, webhookId: webhook.id, feed })
  if (!kept?.reach) return 0
  const past =
    to === undefined ? Number.POSITIVE_INFINITY : await findFirstSince(sql, { part, feed }, new Date(to))
  return Math.min(kept.reach + 1, past) - Math.max(kept.first, first)
}

/** As statements take it. */
function chosenBy({ from, to, entity, failed, since }: Selection) {
  return {
    entity,
    from: instantOf(from),
    to: instantOf(to),
    failed: failed === true || since !== undefined,
    since: instantOf(since),
  }
}

function chooseCount({ entity, failed, since }: Selection) {
  if (failed || since !== undefined) return table.countGivenUp
  return entity === undefined ? table.countAll : table.countOfEntity
}

/** What it chooses is counted before anything is locked. */
export async function startReplay(
  db: Sql,
  webhook: Webhook,
  selection: Selection,
  act: Act,
): Promise<Replay> {
  const chosen = await countReplay(db, webhook, selection)
  return db.transaction(async (sql) => {
    await lockReplays(sql, webhook)
    const refusal = await findReplayRefusal(sql, webhook)
    if (refusal !== undefined) throw new Conflict(refusal)
    const replay = await addReplay(sql, webhook, selection, { ...chosen, pulled: 0 }, act.at)
    await recordAct(sql, act, 'webhook.replayed', `webhook:${webhook.id}`, {
      ...selection,
      ...counted(chosen.total),
    })
    return replay
  })
}

/** `pulled`: what it made due when it began. In the transaction that has locked the replays. */
export async function addReplay(
  sql: Sql,
  webhook: Webhook,
  selection: Selection,
  { first, total, pulled }: ReplayChoice & { readonly pulled: number },
  now: Date,
): Promise<Replay> {
  const part = partOf(webhook.branchId)
  // One that chooses nothing ends where it begins.
  const place = { part, webhookId: webhook.id, first: first ?? Number.MAX_SAFE_INTEGER }
  const [started] = await sql.query(acts.startReplay, { ...place, ...chosenBy(selection), now })
  if (!started?.round) throw new NotFound(`This branch has no webhook ${webhook.id}.`)
  const counts = { round: started.round, total, pulled, first }
  await sql.query(table.noteCounts, { part, webhookId: webhook.id, ...counts })
  await sql.query(acts.tellOfAct, { part, webhookId: webhook.id })
  return getReplay(sql, webhook, started.round)
}

/** In a transaction. A second transaction waits, and sees the replay that the first has started. */
export async function lockReplays(sql: Sql, { id, branchId }: Webhook): Promise<void> {
  await sql.query(acts.lockCursor, { part: partOf(branchId), webhookId: id })
}

/** Why none can be started just now: a page that offers one asks first. */
export async function findReplayRefusal(sql: Sql, { id, branchId }: Webhook): Promise<string | undefined> {
  const running = await sql.query(table.selectRunning, { part: partOf(branchId), webhookId: id })
  if (running.length < runningAtMost) return undefined
  return `This webhook has ${runningAtMost} replays running. Wait for one to finish, or cancel one.`
}

export async function hasRunningRecovery(sql: Sql, { id, branchId }: Webhook): Promise<boolean> {
  const running = await sql.query(table.selectRunning, { part: partOf(branchId), webhookId: id })
  return running.some(({ since }) => since !== null)
}

type Row = RowOf<typeof table.selectReplay>

function replayOf({ entity, fromAt, toAt, failed, since, ...replay }: Row): Replay {
  const selection = {
    ...(fromAt && { from: fromAt.getTime() }),
    ...(toAt && { to: toAt.getTime() }),
    ...(entity !== null && { entity }),
    ...(failed && !since && { failed }),
    ...(since && { since: since.getTime() }),
  }
  return { ...replay, selection }
}

export async function getReplay(sql: Sql, webhook: ReplayedWebhook, id: number): Promise<Replay> {
  const values = { part: partOf(webhook.branchId), webhookId: webhook.id, round: Math.min(id, 2 ** 31 - 1) }
  const [row] = await sql.query(table.selectReplay, values)
  if (!row) throw new NotFound(`This webhook has no replay ${id}.`)
  return replayOf(row)
}

/** What became of a webhook's deliveries since a recovery of it began, whichever of them it set going. */
export interface RecoveryProgress {
  readonly delivered: number
  readonly exhausted: number
}

export function readProgress(
  sql: Sql,
  { id: webhookId, branchId }: ReplayedWebhook,
  round: number,
): Promise<RecoveryProgress> {
  return sql.one(table.countSince, { part: partOf(branchId), webhookId, round, most: replayedAtMost })
}

export async function listReplays(sql: Sql, { id, branchId }: Webhook): Promise<Replay[]> {
  return (await sql.query(table.selectReplays, { part: partOf(branchId), webhookId: id })).map(replayOf)
}

/** In a transaction. One that has ended stays as it ended. */
export async function cancelReplay(sql: Sql, webhook: Webhook, id: number, act: Act): Promise<Replay> {
  const part = partOf(webhook.branchId)
  const values = { part, webhookId: webhook.id, round: Math.min(id, 2 ** 31 - 1), now: act.at }
  const [found] = await sql.query(acts.cancelReplay, values)
  const subject = `webhook:${webhook.id}`
  if (found?.canceled) {
    await recordAct(sql, act, 'webhook.replay_canceled', subject, { replayId: id })
    await sql.query(acts.tellOfAct, { part, webhookId: webhook.id })
  }
  return getReplay(sql, webhook, id)
}

/** What was not counted is not told. */
export function counted(total: number | null): { total?: number } {
  return total === null ? {} : { total }
}

function instantOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}
