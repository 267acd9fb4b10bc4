/**
 * What somebody should be told of, derived from what stands: webhooks that fail, and those that do not any
 * more; secrets that end. What is the brokerage's alone is in own-troubles.ts. A webhook that is disabled is
 * told by a trigger (migrations/0015-alerts.sql). Nothing here looks at alerts that failed: none is told of
 * another.
 */
import { after, day, minute } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { listFailingWebhooks } from '../webhooks/health/failing-webhooks.ts'
import { readLanes } from '../webhooks/health/lane-health.ts'
import { overlapMs } from '../webhooks/subscriptions/webhook.ts'
import * as table from './alerts.sql.ts'

/** Of all partners: what is beyond is told when these have been mended. */
const failingAtMost = 10_000
/** How long before a secret ends. */
const warnedMs = day
export const usedLatelyMs = 7 * day
const keptMs = 90 * day
const batchSize = 1_000

/** Answers how many alerts are due that were not before. */
export async function findDue(db: Database, now: Date): Promise<number> {
  const failing = await listFailingWebhooks(db, now, failingAtMost)
  const found = [
    await db.query(table.insertFailing, {
      webhookIds: failing.map(({ id }) => id),
      since: failing.map(({ failingSince }) => failingSince),
      now,
    }),
    await findRecovered(db, now),
    await db.query(table.insertEnding, {
      ...{ before: after(now, warnedMs), usedSince: after(now, -usedLatelyMs), now },
    }),
    await db.query(table.insertEndingSigning, {
      ...{ before: after(now, warnedMs), overlapMinutes: overlapMs / minute, now },
    }),
  ]
  return found.flat().length
}

async function findRecovered(db: Database, now: Date) {
  const told = await db.query(table.selectToldFailing)
  if (told.length === 0) return []
  const lanes = [...(await readLanes(db, told, now)).values()]
  // Tried since, and the last attempt was accepted.
  const well = lanes.filter(({ condition }) => condition === 'healthy' || condition === 'retrying')
  return db.query(table.insertRecovered, { webhookIds: well.map(({ id }) => id), now })
}

export async function removeOldAlerts(sql: Sql, now: Date): Promise<void> {
  const values = { until: after(now, -keptMs), most: batchSize }
  while ((await sql.query(table.deleteOldAlerts, values)).length === batchSize);
}
