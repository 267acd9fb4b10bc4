/** For whoever wants to know whether a receiver is well again: one attempt at once, and what became of it. */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Database, Sql } from '../database/database.ts'
import { Conflict } from '../problem.ts'
import { dayOfId } from './days.ts'
import type { Attempt } from './delivery.ts'
import type { FailedAttempt } from './failure.ts'
import { partOf, writeToPart } from './part.ts'
import * as table from './probes.sql.ts'
import type { Webhook } from './webhook.ts'

/** Of one webhook. */
export const probesPerMinute = 6

/** A delivery, and how many attempts it had: the next is the probe. */
export interface Probe {
  readonly deliveryId: number
  readonly attemptsBefore: number
}

/**
 * A real attempt of a real delivery, made by a worker through the same guard as any other: it counts as one of the delivery's attempts, and what is behind
 * it keeps its order. Whoever is switched off is sent nothing.
 */
export function startProbe(db: Database, webhook: Webhook, act: Act): Promise<Probe> {
  if (webhook.state !== 'active') throw new Conflict(`This webhook is ${webhook.state}. Resume it, then probe.`)
  return writeToPart(db, partOf(webhook.branchId), async (sql) => {
    const [probe] = await sql.query<Probe>(table.probeNow, [webhook.id, act.at])
    if (!probe) throw new Conflict('Nothing is queued for this webhook. Send a test event instead.')
    await recordAct(sql, act, 'webhook.probed', `webhook:${webhook.id}`, { deliveryId: probe.deliveryId })
    return probe
  })
}

export type ProbeOutcome = Omit<FailedAttempt, 'outcome'> & Pick<Attempt, 'outcome'>

/** Undefined while it has not been made, and for a delivery that is not this webhook's. */
export async function findProbeOutcome(
  sql: Sql,
  { id }: Pick<Webhook, 'id'>,
  { deliveryId, attemptsBefore }: Probe,
): Promise<ProbeOutcome | undefined> {
  const values = [id, deliveryId, attemptsBefore, dayOfId(deliveryId)]
  return (await sql.query<ProbeOutcome>(table.selectAttemptAfter, values))[0]
}
