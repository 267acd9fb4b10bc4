/**
 * What a partner does not want any more is skipped: one delivery, or all that wait at a webhook. A skipped
 * delivery is canceled, with the reason and the actor; what waited behind it goes on.
 */
import { type Act, recordAct } from '../../audit/audit.ts'
import type { Sql } from '../../database/database.ts'
import { Invalid, NotFound } from '../../problem.ts'
import * as acts from '../engine/cursor-acts.sql.ts'
import { partOf } from '../events/part.ts'
import { countedAtMost, readWaiting } from '../health/webhook-health.ts'
import { findNoteProblem } from '../subscriptions/note.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import type { Delivery } from './delivery.ts'
import * as table from './skips.sql.ts'

export const usualReason = 'skipped'

/** All that waited at a webhook. */
export interface Skip {
  /** The number up to which it went: of a webhook it names one. */
  readonly id: number
  readonly webhookId: number
  readonly reason: string
  readonly askedBy: string
  /** How many it was; null where they were too many to be counted. */
  readonly skipped: number | null
  readonly createdAt: Date
}

/** One that has ended stays as it ended; answers whether this one was skipped. */
export async function skipDelivery(
  db: Sql,
  branchId: number,
  { id, webhookId, seq, round, day, entity }: Delivery,
  reason: string,
  act: Act,
): Promise<boolean> {
  checkReason(reason)
  const part = partOf(branchId)
  return db.transaction(async (sql) => {
    const values = { part, webhookId, seq, day, reason, by: act.by.name, now: act.at }
    const [found] =
      round === 0
        ? await sql.query(acts.skipOne, { ...values, entity })
        : await sql.query(acts.skipAgain, { ...values, round })
    if (!found?.skipped) return false
    await recordAct(sql, act, 'webhook.delivery_skipped', `webhook:${webhookId}`, { deliveryId: id, reason })
    await sql.query(acts.tellOfAct, { part, webhookId })
    return true
  })
}

/** What waits now, whatever it is; what is numbered later does not belong to it. */
export async function startSkip(db: Sql, webhook: Webhook, reason: string, act: Act): Promise<Skip> {
  checkReason(reason)
  const part = partOf(webhook.branchId)
  return db.transaction(async (sql) => {
    const waiting = (await readWaiting(sql, [webhook])).get(webhook.id)?.waiting ?? 0
    const skipped = waiting < countedAtMost ? waiting : null
    const values = { part, webhookId: webhook.id, reason, by: act.by.name, now: act.at }
    const passed = await sql.one(acts.skipToNow, values)
    const id = passed.upto
    await sql.query(table.noteSkipped, {
      part,
      webhookId: webhook.id,
      upto: id,
      deliveries: skipped,
      now: act.at,
    })
    await recordAct(sql, act, 'webhook.skipped', `webhook:${webhook.id}`, {
      skipId: id,
      deliveries: skipped,
      reason,
    })
    await sql.query(acts.tellOfAct, { part, webhookId: webhook.id })
    return getSkip(sql, webhook, id)
  })
}

/** Others read it. */
function checkReason(reason: string): void {
  const problem = findNoteProblem(reason)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
}

export async function getSkip(sql: Sql, { id: webhookId, branchId }: Webhook, id: number): Promise<Skip> {
  const [skip] = await sql.query(table.selectSkip, { part: partOf(branchId), webhookId, upto: id })
  if (!skip) throw new NotFound(`This webhook has no skip ${id}.`)
  return skip
}

export function listSkips(sql: Sql, { id, branchId }: Webhook): Promise<Skip[]> {
  return sql.query(table.selectSkips, { part: partOf(branchId), webhookId: id })
}

/** The actor, for the partner: of the brokerage's people only that it was one of them. */
export function printCanceler(actor: string): string {
  return /^(client|user):/.test(actor) ? actor : 'brokerage'
}
