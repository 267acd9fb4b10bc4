/** What a partner's members are told of its webhooks: that one has been failing for a while, and that one was disabled. */
import { after, hour } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import { breakerThreshold } from './lane.ts'
import { tellDisabled, tellFailing } from './webhook-notices.sql.ts'

/** How long a breaker is open before somebody is told: shorter outages mend themselves. */
export const failingMs = hour

/** Once for each time it fails: when it has worked in between, the next is told again. */
export async function watchFailingWebhooks(sql: Sql, now: Date): Promise<number> {
  const values = [...memberLimits(now), after(now, -failingMs), breakerThreshold]
  return (await sql.query(tellFailing, values)).length
}

export async function tellOfDisabled(sql: Sql, webhookId: number, now: Date): Promise<void> {
  await sql.query(tellDisabled, [...memberLimits(now), webhookId])
}
