/**
 * What a partner does not want any more is skipped: one delivery at once, or all that wait at a webhook, in bites beside the traffic. A skipped
 * delivery is canceled, with the reason and who wanted it; what waited behind it goes on.
 */
import { type Act, gatewayAct, recordAct } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { Invalid, NotFound } from '../problem.ts'
import type { Delivery } from './delivery.ts'
import { breakerThreshold } from './lane.ts'
import { findNoteProblem } from './note.ts'
import { lockPart } from './part.sql.ts'
import { partOf, writeToPart } from './part.ts'
import * as table from './skips.sql.ts'
import type { Webhook } from './webhook.ts'

export const usualReason = 'skipped'
const bite = 1_000

export interface Skip {
  readonly id: number
  readonly webhookId: number
  readonly reason: string
  readonly askedBy: string
  readonly state: 'running' | 'finished'
  readonly skipped: number
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

/** One that has ended stays as it ended; answers whether this one was skipped. */
export async function skipDelivery(
  db: Database,
  branchId: number,
  { id, webhookId }: Pick<Delivery, 'id' | 'webhookId'>,
  reason: string,
  act: Act,
): Promise<boolean> {
  checkReason(reason)
  return writeToPart(db, partOf(branchId), async (sql) => {
    const [gone] = await sql.query(table.skipOne, [webhookId, act.at, reason, act.by.name, breakerThreshold, id])
    if (!gone) return false
    await recordAct(sql, act, 'webhook.delivery_skipped', `webhook:${webhookId}`, { deliveryId: id, reason })
    return true
  })
}

/** What waits now, whatever it is; what is created later does not belong to it. */
export async function startSkip(db: Database, webhook: Webhook, reason: string, act: Act): Promise<Skip> {
  checkReason(reason)
  return db.transaction(async (sql) => {
    const [skip] = await sql.query<Skip>(table.insertSkip, [webhook.id, reason, act.by.name, act.at])
    await recordAct(sql, act, 'webhook.skip_started', `webhook:${webhook.id}`, { skipId: skip!.id, reason })
    return skip!
  })
}

/** Others read it. */
function checkReason(reason: string): void {
  const problem = findNoteProblem(reason)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
}

export async function getSkip(sql: Sql, webhook: Webhook, id: number): Promise<Skip> {
  const [skip] = await sql.query<Skip>(table.selectSkip, [id, webhook.id])
  if (!skip) throw new NotFound(`This webhook has no skip ${id}.`)
  return skip
}

export function listSkips(sql: Sql, webhook: Webhook): Promise<Skip[]> {
  return sql.query<Skip>(table.selectSkips, [webhook.id])
}

/** Who it was, for the partner: of the brokerage's people only that it was one of them. */
export function printCanceler(actor: string): string {
  return /^(client|user):/.test(actor) ? actor : 'brokerage'
}

interface RunningSkip {
  readonly id: number
  readonly webhookId: number
  readonly branchId: number
  readonly reason: string
  readonly askedBy: string
  readonly lastId: number
  readonly untilId: number
  readonly skipped: number
}

/** One bite of whoever's turn it is; 0 when there is none or another node is at it. */
export function skipOnce(db: Database, clock: Clock): Promise<number> {
  return db.transaction(async (sql) => {
    const [skip] = await sql.query<RunningSkip>(table.takeSkip)
    if (!skip) return 0
    await sql.query(lockPart, [partOf(skip.branchId)])
    return Math.max(1, await takeBite(sql, skip, clock.now()))
  })
}

async function takeBite(sql: Sql, skip: RunningSkip, now: Date): Promise<number> {
  const { id, webhookId, reason, askedBy, lastId, untilId } = skip
  const gone = await sql.query<{ id: number }>(table.skipBite, [
    ...[webhookId, now, reason, askedBy, breakerThreshold],
    ...[lastId, untilId, bite],
  ])
  const isFinished = gone.length < bite
  const reached = gone.reduce((highest, row) => Math.max(highest, row.id), lastId)
  await sql.query(table.advanceSkip, [id, gone.length, reached, isFinished, now])
  if (isFinished) {
    const details = { skipId: id, deliveries: skip.skipped + gone.length, askedBy }
    await recordAct(sql, gatewayAct(now), 'webhook.skip_finished', `webhook:${webhookId}`, details)
  }
  return gone.length
}
