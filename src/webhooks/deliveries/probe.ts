/**
 * A probe tells an operator or a partner whether a receiver works again: one attempt at once, and its
 * outcome.
 */
import { type Act, recordAct } from '../../audit/audit.ts'
import type { Sql } from '../../database/database.ts'
import { Conflict } from '../../problem.ts'
import * as acts from '../engine/cursor-acts.sql.ts'
import { parseDeliveryId, printDeliveryId } from '../engine/delivery-id.ts'
import { logOf } from '../events/branch-log.ts'
import { partOf } from '../events/part.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectAttemptAfter } from './deliveries.sql.ts'
import type { Attempt } from './delivery.ts'
import { selectProbe } from './probes.sql.ts'

/** A delivery, and how many attempts it had: the next is the probe. */
export interface Probe {
  readonly deliveryId: string
  readonly attemptsBefore: number
}

/**
 * A real attempt of a real delivery, made by a worker through the same guard as any other: it counts as one
 * of the delivery's attempts, and what is behind it keeps its order. A webhook that is not active is not
 * probed.
 */
export function startProbe(db: Sql, webhook: Webhook, act: Act): Promise<Probe> {
  if (webhook.state !== 'active')
    throw new Conflict(`This webhook is ${webhook.state}. Resume it, then probe.`)
  const cursor = { part: partOf(webhook.branchId), webhookId: webhook.id }
  return db.transaction(async (sql) => {
    await sql.query(acts.lockCursor, cursor)
    const [found] = await sql.query(selectProbe, cursor)
    if (!found) throw new Conflict('Nothing is queued for this webhook. Send a test event instead.')
    const { seq, round, entity, attemptsBefore } = found
    const now = act.at
    await sql.query(acts.hurryCursor, { ...cursor, entity: round === 0 ? entity : '', now })
    if (round > 0) await sql.query(acts.hurryAgain, { ...cursor, seq, round, now })
    const deliveryId = printDeliveryId({ webhookId: webhook.id, seq, round })
    await recordAct(sql, act, 'webhook.probed', `webhook:${webhook.id}`, { deliveryId })
    await sql.query(acts.tellOfAct, cursor)
    return { deliveryId, attemptsBefore }
  })
}

export interface ProbeOutcome extends Attempt {
  readonly deliveryId: string
}

const excerpt = 1_000

/** Undefined while it has not been made, and for a delivery that is not this webhook's. */
export async function findProbeOutcome(
  sql: Sql,
  webhook: Pick<Webhook, 'id' | 'branchId' | 'environment'>,
  { deliveryId, attemptsBefore }: Probe,
): Promise<ProbeOutcome | undefined> {
  const key = parseDeliveryId(deliveryId)
  if (key?.webhookId !== webhook.id) return undefined
  const { part, feed } = logOf(webhook)
  const [made] = await sql.query(selectAttemptAfter, { part, feed, ...key, attempts: attemptsBefore })
  return made && { ...made, deliveryId, response: made.response?.slice(0, excerpt) ?? null }
}
